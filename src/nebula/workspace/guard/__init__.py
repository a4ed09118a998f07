"""Who may touch what: the jail that opens paths, the names that are protected, the policy and its judge."""
