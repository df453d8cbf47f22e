package atomrace

import "sync/atomic"

// Entries of narrow accesses.
//
// The entries of an 8-byte word are in one bucket. A bucket is a cache line with room for three
// entries. The product with an odd constant is a permutation of the 2^61 words. Its high bits
// select the bucket and the others are stored in the entry's key, so a key identifies its word
// exactly. The key also has the bytes of the word that are accessed, whether they are written, and
// a turn bit. The ID of the access has a word of its own.
//
// How a reader gets a key and the ID that belongs to it: the claims of an entry are numbered from
// 1. Claim c
//
//  1. changes the key, in one atomic step that also publishes the access, to a key whose turn bit is
//     the lowest bit of c;
//  2. sets the ID;
//  3. sets the entry's turn to c.
//
// The end of the access empties the key except for the turn bit. A free entry is claimed by
// compare-and-swap of its key, a held entry only by its holder. So claims come one after the other,
// and the turn is c or c-1 at any time, where c is the latest claim.
//
// A reader loads turn, ID, key, turn. Let both turns be T. When the key was loaded, the latest
// claim was T or T+1. It was T if the turn bit of the key agrees with T. Then claim T+1 had not
// changed the ID when the ID was loaded, which was earlier. Claim T had set it, because the turn
// was T before the ID was loaded. So ID and key belong together, and the access was pending when
// the key was loaded. (A turn has 32 bits. The reader is wrong if the entry changes hands exactly
// 2^32 times during these four steps.)
//
// If the turn bit disagrees, the claim is a store or two from being complete, and the reader tries
// again. If the claiming thread has been interrupted just there, the reader gives up in the end and
// counts that in Losses.Unnamed.
//
// A thread that accesses a word in another way, as in a write after a read, claims anew the entry
// that it holds. So it never has two entries for a word.

const (
	bucketBits = 14
	bucketWays = 3 // entries of a bucket

	keyTurn     = 1 << 0
	keyWrite    = 1 << 1
	keyShift    = 8 // of the byte mask
	keyBytes    = 0xFF << keyShift
	keyLow      = keyBytes | keyWrite | keyTurn
	keyTagShift = 17
	keyTagBits  = 61 - bucketBits // of 58; the others select the bucket of a line

	hashFactor = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
)

// entryBucket is a cache line of entries.
type entryBucket struct {
	keys   [bucketWays]atomic.Uint64
	ids    [bucketWays]atomic.Uint64
	turns  [bucketWays]atomic.Uint32
	unseen atomic.Uint32 // accesses that found no free entry
}

// heldEntry is an entry of the table that a thread holds. The thread's entry for a word is always
// at the same index; see heldIndex.
type heldEntry struct {
	word uint64 // its address, divided by 8
	low  uint32 // the low bits of its key; if no byte is set there is no entry
	at   uint32 // the bucket, above two bits for the entry within it
}

// release removes the entry at at whose key has the given low bits, if there is one.
//
//go:nosplit
func (t *Table) release(at, low uint32) {
	b := &t.buckets[at>>2%(1<<bucketBits)]
	if own := at & 3; low != 0 && own < bucketWays {
		storeRelease(&b.keys[own], uint64(low&keyTurn))
	}
}

// beforeWord is Before for the part of an access that lies in one word. If the thread has an entry
// for the word, the entry now describes this access instead. Most often this is the write after a
// read.
//
//go:nosplit
func (t *Table) beforeWord(th *Thread, a *Access, from, to uint64, hits *Hits) {
	b, key := t.locate(from, to, a.Write)
	own := uint32(bucketWays)
	if !a.Atomic && !(t.SingleSlot && t.taken(b, key, a.ID)) {
		i := heldIndex(from)
		e := &th.held[i]
		at, low := e.at, e.low
		if low != 0 && e.word == from>>3 {
			if uint32(key&keyLow)&^low == 0 {
				return
			}
			own = at & 3
			if key |= ^uint64(low) & keyTurn; own < bucketWays {
				b.keys[own].Swap(key)
				b.publishID(own, a.ID)
			}
			e.low = uint32(key & keyLow)
		} else {
			e.low = 0
			if own = b.claim(key, a.ID); own < bucketWays {
				e.word, e.low, e.at = from>>3, uint32(b.keys[own].Load()&keyLow), bucketIndex(from)<<2|own
				th.holding |= 1 << i
			}
			t.release(at, low)
		}
	}
	t.scan(b, own, key, a.ID, from, hits)
}

// bucketIndex returns the index of the bucket of the word at addr.
//
//go:nosplit
func bucketIndex(addr uint64) uint32 {
	return uint32(addr>>6*hashFactor>>keyTagBits<<3|addr>>3&7) % (1 << bucketBits)
}

// heldIndex returns the index at which a thread holds the entry for the word at addr. The words of
// one access have different indexes, unless it crosses a multiple of 512.
//
//go:nosplit
func heldIndex(addr uint64) uint64 { return (addr>>3 + addr>>9 + addr>>13) % maxHeld }

// locate returns the bucket for the bytes from from to to, which are in one word, and the key of an
// access to them, without the turn bit.
//
//go:nosplit
func (t *Table) locate(from, to uint64, write bool) (*entryBucket, uint64) {
	key := from>>6*hashFactor<<keyTagShift | (2<<(to&7)-1)&^(1<<(from&7)-1)<<keyShift
	if write {
		key |= keyWrite
	}
	return &t.buckets[bucketIndex(from)], key
}

// claim takes a free entry and publishes an access in it. It returns the entry's index, or
// bucketWays if none is free.
//
//go:nosplit
func (b *entryBucket) claim(key, id uint64) uint32 {
	for i := range uint32(bucketWays) {
		k := b.keys[i].Load()
		if k&keyBytes == 0 && b.keys[i].CompareAndSwap(k, key|^k&keyTurn) {
			b.publishID(i, id)
			return i
		}
	}
	b.unseen.Add(1)
	return bucketWays
}

// publishID completes a claim after the key: it sets the ID, then the turn.
//
//go:nosplit
func (b *entryBucket) publishID(i uint32, id uint64) {
	if i < bucketWays {
		storeRelease(&b.ids[i], id)
		storeRelease32(&b.turns[i], b.turns[i].Load()+1)
	}
}

// conflicting reports whether two keys of one bucket share a byte that one of them writes.
//
//go:nosplit
func conflicting(k, key uint64) bool {
	return (k^key)>>keyTagShift == 0 && k&key&keyBytes != 0 && (k|key)&keyWrite != 0
}

// used reports whether the bucket has an entry.
//
//go:nosplit
func (b *entryBucket) used() bool {
	return (b.keys[0].Load()|b.keys[1].Load()|b.keys[2].Load())&keyBytes != 0
}

// scan looks in b for entries that conflict with an access in the word at addr. The access's own
// entry is own.
//
//go:nosplit
func (t *Table) scan(b *entryBucket, own uint32, key, id, addr uint64, hits *Hits) {
	for i := range uint32(bucketWays) {
		if i != own && conflicting(b.keys[i].Load(), key) {
			if other, k, ok := t.readEntry(b, i, key); ok && other>>32 != id>>32 {
				t.reportOverlap(hits, other, k, addr)
			}
		}
	}
}

// taken reports whether another thread has a pending access to the bytes of key.
//
//go:nosplit
func (t *Table) taken(b *entryBucket, key, id uint64) bool {
	for i := range uint32(bucketWays) {
		if conflicting(b.keys[i].Load(), key|keyWrite) {
			if other, _, ok := t.readEntry(b, i, key|keyWrite); ok && other>>32 != id>>32 {
				return true
			}
		}
	}
	return false
}

// readEntry returns the ID and the key of an entry that conflicts with key, if there still is one.
// The comment at the top explains the order of the loads.
//
//go:nosplit
func (t *Table) readEntry(b *entryBucket, i uint32, key uint64) (id, k uint64, ok bool) {
	if i >= bucketWays {
		return 0, 0, false
	}
	for range maxTries {
		turn := b.turns[i].Load()
		id = b.ids[i].Load()
		k = b.keys[i].Load()
		if !conflicting(k, key) {
			return 0, 0, false
		}
		if b.turns[i].Load() == turn && uint64(turn)&keyTurn == k&keyTurn {
			return id, k, true
		}
		pauseSpinning()
	}
	t.unnamed.Add(1)
	return 0, 0, false
}

// reportOverlap adds an overlap with the entry of key k in the word at addr.
//
//go:nosplit
func (t *Table) reportOverlap(hits *Hits, id, k, addr uint64) {
	first, size := uint64(0), uint64(0)
	for m := k & keyBytes >> keyShift; m != 0; m >>= 1 {
		if size += m & 1; size == 0 {
			first++
		}
	}
	t.addOverlap(hits, id, addr&^7+first, size, k&keyWrite != 0)
}
