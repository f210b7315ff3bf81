// HBCode Core
