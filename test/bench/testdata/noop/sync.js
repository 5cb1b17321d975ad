function sync() { return {} }
