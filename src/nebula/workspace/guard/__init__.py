"""Who may touch what: the jail that opens, the names that are protected, the policy and its judge."""
