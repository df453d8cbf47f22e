//go:build heisen_inject

package runtime

import "internal/bytealg"

// The fingerprint of a race, as heisen.Finding.Fingerprint computes it: the start of the SHA-256 hash
// of the kind, and of the operations and locations of both accesses in the order of their texts. The
// functions run on the system stack and hold heisenAlone.lock.

// heisenRaceFingerprint returns the first 8 bytes of a race's fingerprint.
func heisenRaceFingerprint(r *heisenFoundRace) uint64 {
	t := &heisenAlone.out
	t.clear()
	t.place(r.later)
	middle := t.used
	t.place(r.earlier)
	a, b := t.since(0)[:middle], t.since(middle)
	if b < a {
		a, b = b, a
	}
	h := &heisenHash256
	h.start()
	h.add("race\n")
	h.add(a)
	h.add("\n")
	h.add(b)
	return h.sum()
}

// place appends the text of an access: its op, and the function and line of its innermost frame.
func (t *heisenText) place(access uint64) {
	_, op, place, _ := heisenAccessParts(access)
	t.add(heisenOpNames[op][0])
	t.add(" ")
	pc := uint32(*heisenNode(place))
	found := false
	heisenFrames(pc, func(f heisenNamedFrame) {
		if found {
			return
		}
		found = true
		t.function(f.name)
		if f.start > 0 && f.line > 0 {
			t.add(" +")
			if f.line < f.start {
				t.add("-")
			}
			t.number(uint64(max(f.line-f.start, f.start-f.line)))
			return
		}
		t.add(" ")
		file := f.file
		for slash := bytealg.IndexByteString(file, '/'); slash >= 0; slash = bytealg.IndexByteString(file, '/') {
			file = file[slash+1:]
		}
		t.add(file)
		t.add(":")
		t.number(uint64(f.line))
	})
	switch {
	case found:
	case pc == 0:
		t.add("?")
	default:
		t.address(uint64(firstmoduledata.text) + uint64(pc))
	}
}

// heisenSHA256 computes a SHA-256 hash (FIPS 180-4).
type heisenSHA256 struct {
	state [8]uint32
	block [64]byte
	size  uint64 // bytes so far
}

var heisenHash256 heisenSHA256

func (h *heisenSHA256) start() {
	h.size = 0
	h.state = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
}

func (h *heisenSHA256) add(s string) {
	for i := range len(s) {
		h.addByte(s[i])
	}
}

func (h *heisenSHA256) addByte(c byte) {
	h.block[h.size%64] = c
	if h.size++; h.size%64 == 0 {
		h.mix()
	}
}

// sum returns the first 8 bytes of the hash.
func (h *heisenSHA256) sum() uint64 {
	bits := h.size * 8
	h.addByte(0x80)
	for h.size%64 != 56 {
		h.addByte(0)
	}
	for i := 56; i >= 0; i -= 8 {
		h.addByte(byte(bits >> i))
	}
	return uint64(h.state[0])<<32 | uint64(h.state[1])
}

// mix takes a complete block into the state.
func (h *heisenSHA256) mix() {
	var w [64]uint32
	for i := range 16 {
		b := h.block[4*i:]
		w[i] = uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	}
	for i := 16; i < 64; i++ {
		x, y := w[i-15], w[i-2]
		w[i] = w[i-16] + (heisenRotate(x, 7) ^ heisenRotate(x, 18) ^ x>>3) + w[i-7] + (heisenRotate(y, 17) ^ heisenRotate(y, 19) ^ y>>10)
	}
	s := h.state
	for i := range w {
		a, e := s[0], s[4]
		t1 := s[7] + (heisenRotate(e, 6) ^ heisenRotate(e, 11) ^ heisenRotate(e, 25)) + (e&s[5] ^ ^e&s[6]) + heisenSHA256Round[i] + w[i]
		t2 := (heisenRotate(a, 2) ^ heisenRotate(a, 13) ^ heisenRotate(a, 22)) + (a&s[1] ^ a&s[2] ^ s[1]&s[2])
		s = [8]uint32{t1 + t2, a, s[1], s[2], s[3] + t1, e, s[5], s[6]}
	}
	for i := range s {
		h.state[i] += s[i]
	}
}

// heisenRotate rotates the bits of x to the right.
func heisenRotate(x uint32, n int) uint32 { return x>>n | x<<(32-n) }

var heisenSHA256Round = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
