// Contract
