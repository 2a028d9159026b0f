"""What a study file may say of its workload: one file per kind."""
