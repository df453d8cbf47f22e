//go:build heisenfield

// Functions without a body need a file in assembly in their package.
