"""Studies in a database: tasks, storages, tickets, workers, and the process that supervises them."""
