package main

import (
	"context"
	"os"

	"github.com/heisen-go/heisen/internal/build"
)

func main() {
	b, err := build.New(context.Background(), os.Args[1], "")
	if err != nil {
		panic(err)
	}
	c := b.Command(context.Background(), "test", "-c", "-mod=mod", "-vet=off", "-o", os.Args[2], ".")
	c.Dir = os.Args[1]
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if c.Run() != nil {
		os.Exit(1)
	}
}
