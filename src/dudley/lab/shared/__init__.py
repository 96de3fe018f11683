"""What several experiments share: protocols, tables of trainings, growth rates, figures."""
