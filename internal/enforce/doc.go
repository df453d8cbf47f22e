// Package enforce takes profiles of passing runs to Go source: it makes programs keep the atomicity that their passing
// runs had. It implements sections 6 to 9 of Weeratunge, Zhang and Jagannathan, Accentuating the Positive: Atomicity
// Inference and Enforcement Using Correct Executions (OOPSLA 2011), for Go, on top of package heal.
//
// # Steps
//
//   - Load type-checks a module.
//   - A Recorder takes the events of a passing run and names their variables by the source. Its Profile can be merged
//     with others, and written to a file.
//   - Program.Plan makes an abstract graph of each function, has heal.Resolve place locks in them, and maps the
//     operations back to the source. What cannot be expressed is refused for the variable concerned.
//   - Plan.Write writes changed copies of files, and a description for the -overlay flag of the go command.
//
// # Variables
//
// A variable is a package-level variable or a field of a struct type of the module; a field of all objects of a type
// is one variable, with one lock or a lock for each object. The elements of a map, slice or array belong to the variable that has them.
//
// Variables of one object that passing runs access together are a group, which is one variable with one lock; see
// heal.Profile.Groups.
//
// # Nodes
//
// A node of an abstract graph is a simple statement, a condition, or the head of a loop, switch or select. Its
// accesses to a variable count as one. The lock is held around all of it, so two accesses in one node are atomic if
// the node has the lock.
//
// All operations are made just before a node. A release on an edge is made before the node that the edge leads to: it
// names the access that is its reason, so it does nothing on other edges. At exits, deferred calls release what is
// held.
//
// # Guarantees
//
// If no variable is refused, those of package heal hold for accesses that name the variable. The analysis knows no
// aliases: a variable whose address is taken is refused, and a map or slice that is kept under another name is
// protected only where it is accessed by the name of the variable. A run that accesses a variable by another name
// makes the Recorder leave it out.
//
// # Cost and concurrency
//
// Load runs the go command. The rest takes about the size of the source times the number of variables. Values of this
// package belong to one goroutine.
package enforce
