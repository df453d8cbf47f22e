// Package grid computes all states of a window with few threads and small memory, and so decides
// for all pairs of conflicting accesses whether they can be pending together.
//
// Nothing in a grid depends on a query. A query is answered from the recorded pairs.
//
// Algorithm. The state space is a grid with an axis for each thread. A point is a cut: it gives the
// place of each thread. The grid contains the consistent cuts that are reachable. The possible
// contents of memory at a point are the bits of a word of up to 64 bits, since all cells together
// may have up to 64 contents. A step of a thread maps the contents at one point to those at the
// next with a few operations on words, so that many states cost as little as one.
//
// Whether a step can be taken depends on memory and, separately for each other thread, on the place
// of that thread: on order, held locks and sent messages. A bit matrix over pairs of places
// contains the answer for each pair.
//
// A macro step is the nodes that a thread executes at once: the acquisitions before a node, the
// node, and the releases and other nodes without an access after it. A macro step is invisible if
// it writes, locks and sends nothing, and no other thread waits for it. Invisible steps are taken
// as soon as possible, which is a partial-order reduction. The pairs that meet are also recorded at
// the places before them.
//
// A row is all points that differ only in the place of the last thread. It packs several points
// into each word, one in each lane, so that one operation moves several points. The search goes
// through the grid in slices, by the place of the first thread, which has the most places. The
// points of a slice lead to points of the same slice and of the next. Only two slices are in
// memory. Of an expanded slice, the grid keeps which points were reached and, for each of them,
// eight bits that approximate the contents.
//
// Witnesses are found backward. Grid.Witness goes back from the recorded point, one step at a time,
// depth first. The approximate contents allow points that were not reached; the search backtracks
// from those.
//
// A cell whose initial value no step reads or writes is unwritten until the first write. Its
// initial value needs no content of its own, because the places of the threads determine it (see
// unwritten).
//
// Guarantees. If Grid.Explore returns true, Grid.Refutes and Grid.Witness together are exact for
// all pairs that Grid.Covers: each pair has a witness or is refuted. New returns nil for windows
// that it cannot treat exactly: states must be exact, and each lock must be released by the thread
// that acquired it.
//
// Cost. New refuses more than maxPlaces places, maxGridPoints points, 64 locks or 64 contents of
// memory. Explore stops after the given number of points, at most maxExpanded, or when the kept
// slices take more than maxBytes. Points that are not reached take neither time nor memory.
//
// Concurrency. A Grid belongs to one goroutine.
package grid
