package arch

// module is the module path. The names in the table are relative to it.
const module = "github.com/heisen-go/heisen"

// A room is the place of a package in the architecture. A package may import packages of lower
// floors, and packages of lower steps on its own floor. Imports by tests do not count.
type room struct {
	floor, step int

	library bool     // starts no processes and prints nothing
	stdOnly bool     // imports nothing outside of the module and the standard library
	only    []string // if not nil, the only packages of the module that it may import
}

// table has the room of every package. A name that ends in /... stands for a package and all
// packages below it, which may import each other.
var table = map[string]room{
	".": {floor: 0, step: 0, library: true, stdOnly: true, only: []string{}},

	// What several packages are built with.
	"internal/option":          {floor: 0, step: 1, library: true, stdOnly: true, only: []string{"."}},
	"internal/plural":          {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/printable":       {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/racetag":         {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/contain":         {floor: 0, step: 1, library: true, stdOnly: true, only: []string{"."}},
	"internal/textdiff":        {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/reformat":        {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/words":           {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/races":           {floor: 0, step: 1, library: true, stdOnly: true, only: []string{"."}},
	"internal/locksets":        {floor: 0, step: 2, library: true, only: []string{".", "internal/shadow"}},
	"internal/shadow":          {floor: 0, step: 1, library: true, stdOnly: true, only: []string{"."}},
	"internal/intake":          {floor: 0, step: 2, library: true, stdOnly: true, only: []string{".", "internal/shadow"}},
	"internal/core/atomrace":   {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/core/strategies": {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/core/fasttrack":  {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/core/wire":       {floor: 0, step: 1, stdOnly: true, only: []string{}},
	"internal/goroutines":      {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/waitreason":      {floor: 0, step: 1, library: true, stdOnly: true, only: []string{"."}},
	"internal/dpor":            {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},

	"internal/filename": {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/source":   {floor: 0, step: 1, library: true, only: []string{"."}},
	"internal/fold":     {floor: 0, step: 1, library: true, stdOnly: true, only: []string{"."}},
	"internal/scc":      {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},

	// Packages that do not import each other, with one exception: the hybrid detector in lockset
	// needs the order of messages from vclock.
	"trace":   {floor: 1, library: true},
	"vclock":  {floor: 1, library: true},
	"lockset": {floor: 1, step: 1, library: true, only: []string{".", "internal/intake", "internal/locksets", "internal/option", "internal/shadow", "vclock"}},
	"tree":    {floor: 1, library: true},
	"section": {floor: 1, library: true, stdOnly: true, only: []string{".", "internal/filename", "internal/option", "internal/words"}},
	"report":  {floor: 1, library: true, only: []string{".", "internal/option", "internal/plural", "internal/printable", "internal/source", "internal/fold", "internal/filename"}},

	"internal/repository":   {floor: 0, step: 1, library: true, stdOnly: true, only: []string{}},
	"internal/wording":      {floor: 1, step: 1, library: true, only: []string{".", "report", "internal/plural", "internal/source"}},
	"internal/diagram":      {floor: 1, step: 2, library: true, only: []string{".", "report", "internal/plural", "internal/wording"}},
	"internal/findingsfile": {floor: 1, step: 1, library: true, only: []string{".", "report", "internal/filename"}},
	"internal/annotation":   {floor: 1, step: 3, library: true, only: []string{".", "report", "internal/printable", "internal/repository", "internal/wording"}},
	"internal/sarif":        {floor: 1, step: 3, library: true, only: []string{".", "report", "internal/diagram", "internal/filename", "internal/repository", "internal/wording"}},
	"internal/tracejson":    {floor: 1, step: 3, library: true, only: []string{".", "report", "internal/diagram", "internal/wording"}},
	"internal/onepage":      {floor: 1, step: 3, library: true, only: []string{".", "report", "internal/plural", "internal/printable", "internal/wording"}},
	"internal/htmlreport":   {floor: 1, step: 3, library: true, only: []string{".", "report", "internal/diagram", "internal/printable", "internal/repository", "internal/wording"}},

	"internal/tracewindow": {floor: 1, step: 3, library: true, only: []string{".", "report", "internal/diagram", "internal/fold", "internal/option", "internal/wording"}},

	"internal/allocsite": {floor: 1, step: 1, library: true, stdOnly: true, only: []string{".", "report"}},

	// Packages that combine them.
	"internal/overlap": {floor: 1, step: 1, library: true, stdOnly: true, only: []string{".", "section"}},

	"atomrace":  {floor: 2, library: true, stdOnly: true, only: []string{".", "internal/intake", "internal/option", "internal/shadow", "internal/core/atomrace", "internal/overlap", "section"}},
	"atomicity": {floor: 2, library: true, only: []string{".", "internal/intake", "internal/option", "internal/shadow", "internal/locksets", "lockset", "vclock"}},
	"mcm/order": {floor: 2, library: true, stdOnly: true, only: []string{".", "internal/option"}},
	"mcm":       {floor: 2, step: 8, library: true},
	"syncp":     {floor: 2, step: 9, library: true, only: []string{".", "internal/intake", "internal/locksets", "internal/option", "internal/shadow", "mcm"}},

	// The predictor, from the bottom. The packages that check a witness and that write a query for
	// another solver import the window, but neither the model nor any search. Searches import the
	// model and the moves, and not each other; the cascade imports them all.
	"mcm/internal/window":    {floor: 2, step: 1, library: true, stdOnly: true, only: []string{".", "section"}},
	"mcm/internal/replay":    {floor: 2, step: 2, library: true, stdOnly: true, only: []string{".", "mcm/internal/window"}},
	"mcm/internal/smtlib":    {floor: 2, step: 3, library: true, stdOnly: true, only: []string{".", "mcm/internal/window", "mcm/internal/replay"}},
	"mcm/internal/model":     {floor: 2, step: 2, library: true, stdOnly: true, only: []string{".", "mcm/order", "mcm/internal/window"}},
	"mcm/internal/candidate": {floor: 2, step: 3, library: true, stdOnly: true, only: []string{".", "mcm/order", "mcm/internal/window", "mcm/internal/model"}},
	"mcm/internal/quick":     {floor: 2, step: 3, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model"}},
	"mcm/internal/solve":     {floor: 2, step: 3, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model"}},
	"mcm/internal/moves":     {floor: 2, step: 3, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model"}},
	"mcm/internal/explore":   {floor: 2, step: 4, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model", "mcm/internal/moves"}},
	"mcm/internal/reach":     {floor: 2, step: 4, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model", "mcm/internal/moves"}},
	"mcm/internal/beam":      {floor: 2, step: 4, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model", "mcm/internal/moves"}},
	"mcm/internal/grid":      {floor: 2, step: 4, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model", "mcm/internal/moves"}},
	"mcm/internal/sweep":     {floor: 2, step: 4, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model", "mcm/internal/moves"}},
	"mcm/internal/cascade": {floor: 2, step: 5, library: true, stdOnly: true, only: []string{"mcm/order", "mcm/internal/model", "mcm/internal/quick", "mcm/internal/solve",
		"mcm/internal/moves", "mcm/internal/explore", "mcm/internal/reach", "mcm/internal/beam", "mcm/internal/grid", "mcm/internal/sweep"}},

	// Helpers of tests.
	"mcm/internal/windowtest": {floor: 6, step: 2},
	"mcm/internal/modeltest":  {floor: 6, step: 3},

	"focus": {floor: 3, library: true, only: []string{".", "internal/intake", "internal/locksets", "internal/option", "internal/shadow", "internal/words", "vclock"}},

	"field":     {floor: 3, library: true, only: []string{".", "internal/goroutines", "internal/option", "internal/waitreason", "report"}}, // runs in programs in production
	"heal":      {floor: 3, step: 1, library: true, stdOnly: true, only: []string{".", "heal/lock", "internal/intake", "internal/option", "internal/scc", "internal/shadow", "section"}},
	"heal/lock": {floor: 3, library: true, stdOnly: true, only: []string{}}, // runs in programs in production

	"racefuzz": {floor: 3, library: true},

	"internal/static":  {floor: 3, only: []string{"internal/scc"}},
	"internal/ssaload": {floor: 3, step: 1, only: []string{"internal/racetag", "internal/static"}}, // runs the go command
	"internal/readuse": {floor: 3, step: 2, only: []string{"internal/ssaload"}},
	"internal/changed": {floor: 3, step: 2, only: []string{"internal/source", "internal/ssaload"}}, // runs git

	// The parts of the command.
	"internal/arch":        {floor: 4, step: 0, stdOnly: true, only: []string{}},
	"internal/processes":   {floor: 4, step: 0, stdOnly: true, only: []string{}},
	"internal/resident":    {floor: 4, stdOnly: true, only: []string{}},
	"internal/private":     {floor: 4, step: 0, stdOnly: true, only: []string{}},
	"internal/kept":        {floor: 4, step: 1, only: []string{"internal/private", "report"}},
	"internal/corpus":      {floor: 4, step: 2, only: []string{"internal/kept", "internal/private", "racefuzz"}},
	"internal/recorder":    {floor: 4, step: 1},
	"internal/infer":       {floor: 4, step: 0, only: []string{"internal/option", "internal/ssaload", "internal/static", "section"}},
	"internal/ownership":   {floor: 4, step: 0, only: []string{"focus", "internal/reformat", "internal/ssaload", "internal/static", "internal/textdiff"}},
	"internal/unhook":      {floor: 4, step: 0, only: []string{"focus"}},
	"internal/accesstable": {floor: 4, step: 0, library: true, only: []string{}},
	"internal/sampler":     {floor: 4, step: 0, library: true, stdOnly: true, only: []string{}},
	"internal/enforce":     {floor: 4, step: 1, only: []string{".", "heal", "heal/lock", "internal/ssaload", "internal/static"}},
	"internal/patch":       {floor: 4, step: 1, only: []string{".", "internal/infer", "internal/reformat", "internal/static", "internal/textdiff", "report"}},
	"vet":                  {floor: 4, step: 1, only: []string{"internal/infer"}},
	"vet/golangci":         {floor: 4, step: 2, only: []string{"vet"}},
	"internal/build":       {floor: 4, step: 2},
	"internal/selftest":    {floor: 4, step: 3},
	"internal/observed":    {floor: 4, step: 3, only: []string{".", "internal/build", "internal/core/strategies", "internal/filename", "internal/races", "internal/recorder", "internal/scc", "internal/source", "internal/waitreason", "report"}},
	"internal/cli":         {floor: 4, step: 9},
	"internal/cli/scripts": {floor: 4, step: 10},
	"driver":               {floor: 4, step: 10},
	"heisentest":           {floor: 4, stdOnly: true, only: []string{"internal/goroutines"}}, // linked into the tests of users; starts heisen

	// The confirmation of suspects, from the bottom. The search and the repetition do not import each other.
	"internal/confirm/controlled": {floor: 4, step: 4},
	"internal/confirm/carried":    {floor: 4, step: 4, only: []string{".", "internal/build", "internal/corpus", "internal/recorder", "internal/source", "racefuzz"}},
	"internal/confirm/suspects":   {floor: 4, step: 5},
	"internal/confirm/trials":     {floor: 4, step: 6, only: []string{".", "internal/confirm/controlled", "internal/confirm/suspects", "internal/core/strategies", "internal/filename", "internal/observed", "internal/recorder", "report"}},
	"internal/confirm/search":     {floor: 4, step: 7, only: []string{".", "internal/confirm/controlled", "internal/confirm/suspects", "internal/confirm/trials", "internal/core/strategies", "internal/dpor", "internal/recorder", "report"}},
	"internal/confirm/repro":      {floor: 4, step: 7},
	"internal/confirm/parts":      {floor: 4, step: 7, only: []string{"internal/confirm/controlled", "internal/private", "racefuzz", "report"}},
	"internal/confirm":            {floor: 4, step: 8},

	"cmd/heisen": {floor: 5},

	// Executions with known bugs.
	"bench/workload": {floor: 0, step: 1, library: true, stdOnly: true, only: []string{"."}},
	"corpus":         {floor: 1, step: 1, library: true, stdOnly: true, only: []string{".", "bench/workload", "report"}},

	// These may import everything. Only tests import them, and bench imports examples.
	"bench/...":                        {floor: 6, step: 1},
	"examples/...":                     {floor: 6},
	"internal/testaid/adversary":       {floor: 6, step: 1},
	"internal/testaid/bugcounts":       {floor: 6, step: 1},
	"internal/testaid/bugfuzz":         {floor: 6},
	"internal/testaid/bugtests":        {floor: 6, step: 1},
	"internal/testaid/goleaktests":     {floor: 6, step: 1},
	"internal/testaid/goracetests":     {floor: 6},
	"internal/testaid/leakprograms":    {floor: 5, step: 0, only: []string{".", "report"}},
	"docs":                             {floor: 6},
	"internal/testaid/checkgoroot":     {floor: 6, step: 1},
	"internal/testaid/gosuites":        {floor: 6, step: 1},
	"internal/testaid/healedprograms":  {floor: 6},
	"internal/testaid/hiddenprograms":  {floor: 6},
	"internal/testaid/patchedprograms": {floor: 6},
	"internal/testaid/racyprograms":    {floor: 5, step: 0, stdOnly: true, only: []string{}},
	"internal/testaid/diagramtest":     {floor: 5, step: 0, only: []string{".", "report", "internal/diagram", "lockset", "vclock"}},
	"internal/testaid/heisencmd":       {floor: 6},
	"internal/testaid/must":            {floor: 0, stdOnly: true, only: []string{}},
	"internal/testaid/sdktools":        {floor: 6},
	"internal/testaid/tier":            {floor: 0, stdOnly: true, only: []string{}},
	"internal/testaid/leakprofile":     {floor: 6, only: []string{"internal/goroutines", "internal/testaid/tier"}},
	"internal/testaid/verdicts":        {floor: 6},
	"internal/testaid/wine":            {floor: 6, stdOnly: true, only: []string{}},
	"internal/testaid/randomtrials":    {floor: 6, stdOnly: true, only: []string{"internal/testaid/tier"}},
}

// forbidden has the packages that libraries must not import, with the reasons.
var forbidden = map[string]string{
	"os/exec": "a library starts no processes",
	"log":     "a library prints nothing",
}
