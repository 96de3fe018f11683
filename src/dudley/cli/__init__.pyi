from dudley.cli.app import main as main
