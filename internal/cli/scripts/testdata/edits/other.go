package shop

// More.
