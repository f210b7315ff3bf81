// Oracles
