package library

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/big"
	"math/rand"
	randv2 "math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func useRand() func() {
	r := rand.New(rand.NewSource(1))
	return func() { r.Intn(10) }
}

func TestRaceRand(t *testing.T)   { race(t, useRand()) }
func TestNoRaceRand(t *testing.T) { noRace(t, useRand()) }

func useRandPCG() func() {
	r := randv2.New(randv2.NewPCG(1, 2))
	return func() { r.IntN(10) }
}

func TestRaceRandPCG(t *testing.T)   { race(t, useRandPCG()) }
func TestNoRaceRandPCG(t *testing.T) { noRace(t, useRandPCG()) }

func useBigInt() func() {
	z, one := new(big.Int), big.NewInt(1)
	return func() { z.Add(z, one) }
}

func TestRaceBigInt(t *testing.T)   { race(t, useBigInt()) }
func TestNoRaceBigInt(t *testing.T) { noRace(t, useBigInt()) }

func useBigRat() func() {
	z := new(big.Rat)
	return func() { z.SetInt64(1) }
}

func TestRaceBigRat(t *testing.T)   { race(t, useBigRat()) }
func TestNoRaceBigRat(t *testing.T) { noRace(t, useBigRat()) }

func useCrc32() func() {
	h := crc32.NewIEEE()
	return func() { h.Write([]byte("some text")) }
}

func TestRaceCRC32(t *testing.T)   { race(t, useCrc32()) }
func TestNoRaceCRC32(t *testing.T) { noRace(t, useCrc32()) }

func useSha256() func() {
	h := sha256.New()
	return func() { h.Write([]byte("some text")) }
}

func TestRaceSHA256(t *testing.T)   { race(t, useSha256()) }
func TestNoRaceSHA256(t *testing.T) { noRace(t, useSha256()) }

func useEncodeRune() func() {
	b := make([]byte, 4)
	return func() { utf8.EncodeRune(b, '世') }
}

func TestRaceEncodeRune(t *testing.T)   { race(t, useEncodeRune()) }
func TestNoRaceEncodeRune(t *testing.T) { noRace(t, useEncodeRune()) }

func useReadAt() func() {
	b := make([]byte, 4)
	return func() { strings.NewReader("some text").ReadAt(b, 0) }
}

func TestRaceReadAt(t *testing.T)   { race(t, useReadAt()) }
func TestNoRaceReadAt(t *testing.T) { noRace(t, useReadAt()) }

func useBinaryRead() func() {
	var v struct{ A, B uint32 }
	return func() { binary.Read(strings.NewReader("12345678"), binary.BigEndian, &v) }
}

func TestRaceBinaryRead(t *testing.T)   { race(t, useBinaryRead()) }
func TestNoRaceBinaryRead(t *testing.T) { noRace(t, useBinaryRead()) }
