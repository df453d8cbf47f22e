// Package order decides whether events can be ordered: given chains of events
// (threads), edges that must hold, clauses over atoms "a comes before b", reads with
// the values that they may see and sections that exclude each other, is there a strict
// total order that contains the chains and the edges and satisfies the rest? It is a
// conflict-driven search, as in SAT solvers, with the theory of strict orders over
// chains built in, and what follows in it from reads and sections.
//
// # Why orders, and not integers
//
// Predicting a race asks for a reordering of a trace (TREE and RDIT, section
// 4.4.4). The paper gives each event an integer and leaves the inequalities to an
// SMT solver. Its theory of differences keeps a graph of weighted constraints and
// looks for negative cycles. But all weights here are the same, and events come in
// a few chains, the threads. Both make the theory much cheaper: an edge is a bit,
// and what is known of an event is how far into each chain it can look back.
//
// # Rows
//
// The theory's state is, for every node n and chain c, the number of nodes of c
// that come before n or are n: a vector clock, raised by the search. Whether a
// comes before b is one comparison. An edge a to b that is new raises the rows of
// b and of what comes after b, by the row of a and nothing else; the walk along a
// chain ends at the first node that gains nothing. Old values are logged, and
// backtracking restores them. An edge closes a cycle if b is already before a,
// which is one comparison too.
//
// # Reads and sections
//
// In clauses, that a read sees a certain value takes a boolean for each write of it,
// and a clause for each of these and each write of another value (a rival): cubic in
// the accesses to a variable. AddRead and AddSections say it once, and the rows are
// asked what follows. Of the writes of a chain, those that come before a read are the
// first ones, and those that come after another write are the last ones, so that
// bisection finds the only ones that matter: what a read sees comes before it; before
// that comes the last rival of each chain that comes before the read, and after the
// read the first rival of each chain that comes after that. What a read may still see
// is a piece of each chain: what comes before it is covered by a rival, what comes after
// it comes after the read. If one choice is left it is made, if none there is a
// conflict, and otherwise one is decided, the one that the preferred order has if it is
// left. The reads of recent conflicts come first, and of these the ones with few choices:
// what they took part in is divided by the number of choices that they have left. Of two sections, one ends before the other
// starts when it starts before the other's end.
//
// The log of raised cells says where to look: a read whose row has changed, the readers
// of writes that have come to be before another write, and the end of a section. What
// follows is an atom like any other, with a note of two or three numbers; if a conflict
// needs it, its reason is the paths in the rows that were there at the time. A choice is
// a boolean that is made when it is first decided or follows; learned clauses speak of
// choices, of atoms and of what comes before the sink, never of a query, so that they
// serve all of them.
//
// Two rivals of which nothing decides the order with a read and what it sees may be
// anywhere. The search ends when all choices are made and goes through the candidate: for
// what it violates there it adds the clause that decides it. That is rarely more than a
// few.
//
// # Atoms
//
// Only pairs that occur in clauses or assumptions get a variable, one for both
// directions, for the negation of a before b is b before a. Each node lists its
// atoms by chain and position. A cell that rises from i to j decides exactly the
// node's atoms with positions i to j-1 of that chain, so propagation is
// exhaustive at the cost of what it finds: no atom is open that the edges decide.
// (An atom made in the midst of a search is assigned at the level where it is made,
// although it may follow from less. After backtracking it may be open though
// decided, so such atoms are remembered and looked at until they are not.)
//
// # Explanations
//
// An implied literal keeps no reason. If a conflict needs it, a breadth-first
// search goes backwards along edges that are older than the literal, with chains,
// required edges and facts free and literals at cost 1, and finds a path with the
// fewest literals that are new: those that the analysis of the conflict has met
// before are free too, so that explanations share what they can. The rows prune it: it never leaves what lies between the two
// nodes, and it looks at each place of a chain once. Few implied literals are ever
// asked about, which is why looking late is cheaper than noting early.
//
// # Search
//
// Conflicts are resolved to the first unique implication point, the clause is
// minimised and learned; variables of recent conflicts are decided first (VSIDS);
// restarts follow Luby's sequence; learned clauses of many levels are deleted as
// they get many. Three things differ from the textbook. A variable is decided only
// for the sake of a permanent clause that does not hold yet, and the search ends
// when all hold, for the rest of the order is free: any linearisation of what was
// decided will do, and the one nearest to the preferred order is taken. A pair is
// tried the way the preferred order has it, for the observed trace satisfies
// nearly everything, and is tried that way again after it was backtracked: to
// keep the value that it had, as SAT solvers do (phase saving), leads away from
// the observed trace, and where reads have many choices takes more conflicts in
// the mean, though not in every window. And some literals are lax: they hold
// unless something was decided against them, all at once and at no cost. A clause
// with one is left alone until its lax literals have become false; then its
// variables enter the heap from which decisions are taken. Lax are the negations
// of booleans, and that a node comes after the sink (see below), so that a
// query's search touches only the events that have to come before the place that
// it asks about.
//
// # Lazy clauses
//
// Of constraints that are neither reads nor sections a query may need few of many. So a
// check may be shown the candidate order, and returns clauses that it violates. They are
// permanent, and the search goes on from the highest level where they leave something
// open.
//
// # Queries
//
// Assumptions are the first decisions. Learned clauses follow from permanent
// clauses alone, so that they stay valid for other assumptions: a Solver gets
// better at its window with every query. A query about a place in the order (are
// these two accesses next, at one moment?) has a node for that place, on a chain
// of its own, that clauses refer to and assumptions place: a Sink. Nothing is
// concluded through a sink, so that its rows alone change: what comes before it
// is an ordinary row, and what comes after it is a row of the first position in
// each chain, found by bisection. A cycle through the sink is found when its last
// edge is added: the sink is known to be before where it starts and after where it
// ends. A linearisation places the sink as early as it can.
//
// What comes after the sink matters to no read or section. So in a search with such, an
// edge is not followed into the rows of nodes that come after it; that was a third of all
// cells. A row that is behind still knows who comes before its node directly, from
// which the linearisation is made. A cycle among such nodes, which clauses can make, is
// met there, and from then on all rows are whole.
//
// Budgets are numbers of conflicts and propagations. Nothing depends on time, on
// addresses or on the order of a map: the same calls have the same results.
package order
