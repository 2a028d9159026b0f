"""JDBC drivers: where their jars and Java are, and the load of an option that a driver sends."""
