// HBCode Twin
