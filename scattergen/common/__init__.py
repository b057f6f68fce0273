"""What every stage may use: settings, the machine, files, processes, records. It knows nothing of operators."""
