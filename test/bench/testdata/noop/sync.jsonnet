{ sync():: {} }
