// HBCode System
