"""Alarms: when a declared level is provably exceeded, and what exactly is proved then."""
