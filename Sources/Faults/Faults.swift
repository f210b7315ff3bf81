// Faults
