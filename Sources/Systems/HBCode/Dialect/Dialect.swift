// HBCode Dialect
