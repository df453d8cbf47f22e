//go:build heisen_inject

package runtime

import "unsafe"

// Which channels a goroutine has used. Of goroutines that wait for ever for each other over channels, it tells which one waits because of
// which: who has received from a channel is the one for which a sender waits. The functions run on the goroutine itself.

// heisenChannelUses are the channels that a goroutine has used last, each with the ways in which it has. A channel is an address with the
// ways in its low bits. Another channel may have the address of one that is gone.
type heisenChannelUses struct {
	at   [heisenStuckUses]uintptr
	next uint8 // the one to be replaced
}

// add notes a use, before it is made.
func (u *heisenChannelUses) add(c *hchan, way uintptr) {
	p := uintptr(unsafe.Pointer(c))
	if p == 0 {
		return
	}
	for i := range u.at {
		if u.at[i]&^heisenUseWays == p {
			u.at[i] |= way
			return
		}
	}
	u.at[u.next%heisenStuckUses] = p | way
	u.next++
}

// heisenSends is called before the current goroutine sends to a channel, if it is ready or the goroutine waits.
func heisenSends(c *hchan) {
	if h := heisenFollowsRounds(); h != nil {
		h.task.uses.add(c, heisenUseSends)
	}
}

// put puts the uses into words, and returns their number.
func (u *heisenChannelUses) put(words []uint64) (n uint64) {
	for _, use := range u.at {
		if use != 0 {
			words[n] = uint64(use)
			n++
		}
	}
	return n
}
