package arch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/field"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/heal/lock"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/mcm/order"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/syncp"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// The tests of this file check the rule about nil, zero values and required arguments that the
// documentation of package heisen states. Their tables are complete: the tests compare them with the
// exported declarations.

// zeroUse says what a zero value is good for.
type zeroUse int

const (
	ready   zeroUse = iota // every method works
	useless                // methods that return an error return heisen.ErrZero
	panics                 // wrong use panics with a sentence: goroutines and objects of models
)

// methods has all exported types that have exported methods.
var methods = map[string]struct {
	zero any // a nil pointer to the type
	use  zeroUse
}{
	".: Access":   {(*heisen.Access)(nil), ready},
	".: Finding":  {(*heisen.Finding)(nil), ready},
	".: Object":   {(*heisen.Object)(nil), ready},
	".: Objects":  {(*heisen.Objects)(nil), ready},
	".: Op":       {(*heisen.Op)(nil), ready},
	".: Record":   {(*heisen.Record)(nil), ready},
	".: SiteInfo": {(*heisen.SiteInfo)(nil), ready},
	".: Symbols":  {(*heisen.Symbols)(nil), ready},

	"atomicity: Blocks":    {(*atomicity.Blocks)(nil), ready},
	"atomicity: Serial":    {(*atomicity.Serial)(nil), ready},
	"atomicity: Reduction": {(*atomicity.Reduction)(nil), ready},

	"atomrace: Delay":     {(*atomrace.Delay)(nil), ready},
	"atomrace: Detector":  {(*atomrace.Detector)(nil), ready},
	"atomrace: Heuristic": {(*atomrace.Heuristic)(nil), ready},

	"field: Watcher": {(*field.Watcher)(nil), useless},

	"focus: Atomicity":  {(*focus.Atomicity)(nil), ready},
	"focus: Basic":      {(*focus.Basic)(nil), ready},
	"focus: Discoverer": {(*focus.Discoverer)(nil), useless},
	"focus: Filter":     {(*focus.Filter)(nil), useless},
	"focus: Guard":      {(*focus.Guard)(nil), ready},
	"focus: Hash":       {(*focus.Hash)(nil), ready},
	"focus: Lines":      {(*focus.Lines)(nil), ready},
	"focus: Kind":       {(*focus.Kind)(nil), ready},
	"focus: Owner":      {(*focus.Owner)(nil), ready},
	"focus: Plan":       {(*focus.Plan)(nil), ready},
	"focus: Variable":   {(*focus.Variable)(nil), ready},

	"heal: Graph":        {(*heal.Graph)(nil), ready},
	"heal: HealingLocks": {(*heal.HealingLocks)(nil), ready},
	"heal: Live":         {(*heal.Live)(nil), ready},
	"heal: Location":     {(*heal.Location)(nil), ready},
	"heal: Mode":         {(*heal.Mode)(nil), ready},
	"heal: Profile":      {(*heal.Profile)(nil), ready},
	"heal: Profiler":     {(*heal.Profiler)(nil), useless},

	"heal/lock: Held": {(*lock.Held)(nil), ready},
	"heal/lock: Mode": {(*lock.Mode)(nil), ready},

	"lockset: Eraser":    {(*lockset.Eraser)(nil), ready},
	"lockset: Hybrid":    {(*lockset.Hybrid)(nil), ready},
	"lockset: LockOrder": {(*lockset.LockOrder)(nil), ready},

	"mcm: Detector": {(*mcm.Detector)(nil), useless},
	"mcm: Model":    {(*mcm.Model)(nil), useless},
	"mcm: Stats":    {(*mcm.Stats)(nil), ready},
	"mcm: Verdict":  {(*mcm.Verdict)(nil), ready},
	"mcm: Window":   {(*mcm.Window)(nil), ready},
	"mcm: Witness":  {(*mcm.Witness)(nil), ready},

	"syncp: Detector": {(*syncp.Detector)(nil), useless},

	"mcm/order: Lit":     {(*order.Lit)(nil), ready},
	"mcm/order: Problem": {(*order.Problem)(nil), ready},
	"mcm/order: Result":  {(*order.Result)(nil), ready},
	"mcm/order: Solver":  {(*order.Solver)(nil), useless},

	"racefuzz: Chan":          {(*racefuzz.Chan)(nil), panics},
	"racefuzz: DPOR":          {(*racefuzz.DPOR)(nil), ready},
	"racefuzz: Exhaustive":    {(*racefuzz.Exhaustive)(nil), ready},
	"racefuzz: G":             {(*racefuzz.G)(nil), panics},
	"racefuzz: Kind":          {(*racefuzz.Kind)(nil), ready},
	"racefuzz: MeetingKind":   {(*racefuzz.MeetingKind)(nil), ready},
	"racefuzz: Mutex":         {(*racefuzz.Mutex)(nil), panics},
	"racefuzz: Outcome":       {(*racefuzz.Outcome)(nil), ready},
	"racefuzz: RWMutex":       {(*racefuzz.RWMutex)(nil), panics},
	"racefuzz: Result":        {(*racefuzz.Result)(nil), ready},
	"racefuzz: Roles":         {(*racefuzz.Roles)(nil), ready},
	"racefuzz: Schedule":      {(*racefuzz.Schedule)(nil), ready},
	"racefuzz: ScheduleError": {(*racefuzz.ScheduleError)(nil), ready},
	"racefuzz: Var":           {(*racefuzz.Var)(nil), panics},
	"racefuzz: WaitGroup":     {(*racefuzz.WaitGroup)(nil), panics},
	"racefuzz: Waiting":       {(*racefuzz.Waiting)(nil), ready},

	"report: Access":      {(*report.Access)(nil), ready},
	"corpus: Program":     {(*corpus.Program)(nil), ready},
	"corpus: Trace":       {(*corpus.Trace)(nil), ready},
	"report: Baseline":    {(*report.Baseline)(nil), ready},
	"report: Blocked":     {(*report.Blocked)(nil), ready},
	"report: Brief":       {(*report.Brief)(nil), ready},
	"report: Certainty":   {(*report.Certainty)(nil), ready},
	"report: Collector":   {(*report.Collector)(nil), useless},
	"report: Finding":     {(*report.Finding)(nil), ready},
	"report: FlakyTest":   {(*report.FlakyTest)(nil), ready},
	"report: Following":   {(*report.Following)(nil), ready},
	"report: Pair":        {(*report.Pair)(nil), ready},
	"report: Resolver":    {(*report.Resolver)(nil), ready},
	"report: Step":        {(*report.Step)(nil), ready},
	"report: Suppression": {(*report.Suppression)(nil), ready},

	"section: End":          {(*section.End)(nil), ready},
	"section: Index":        {(*section.Index)(nil), ready},
	"section: Interleaving": {(*section.Interleaving)(nil), ready},
	"section: Lines":        {(*section.Lines)(nil), ready},
	"section: Location":     {(*section.Location)(nil), ready},
	"section: Locator":      {(*section.Locator)(nil), ready},
	"section: Modes":        {(*section.Modes)(nil), ready},
	"section: Refiner":      {(*section.Refiner)(nil), ready},
	"section: Role":         {(*section.Role)(nil), ready},
	"section: Section":      {(*section.Section)(nil), ready},
	"section: Tracker":      {(*section.Tracker)(nil), ready},

	"trace: BinaryReader":    {(*trace.BinaryReader)(nil), useless},
	"trace: CorruptError":    {(*trace.CorruptError)(nil), ready},
	"trace: Printer":         {(*trace.Printer)(nil), useless},
	"trace: Reader":          {(*trace.Reader)(nil), useless},
	"trace: STDReader":       {(*trace.STDReader)(nil), useless},
	"trace: STDWriter":       {(*trace.STDWriter)(nil), useless},
	"trace: Stats":           {(*trace.Stats)(nil), ready},
	"trace: SyntaxError":     {(*trace.SyntaxError)(nil), ready},
	"trace: TruncatedError":  {(*trace.TruncatedError)(nil), ready},
	"trace: ValidationError": {(*trace.ValidationError)(nil), ready},
	"trace: Validator":       {(*trace.Validator)(nil), ready},
	"trace: Writer":          {(*trace.Writer)(nil), useless},

	"tree: Filter": {(*tree.Filter)(nil), useless},

	"vclock: Clock":         {(*vclock.Clock)(nil), ready},
	"vclock: Compaction":    {(*vclock.Compaction)(nil), useless},
	"vclock: Epoch":         {(*vclock.Epoch)(nil), ready},
	"vclock: FastTrack":     {(*vclock.FastTrack)(nil), ready},
	"vclock: HappensBefore": {(*vclock.HappensBefore)(nil), ready},
	"vclock: Order":         {(*vclock.Order)(nil), ready},
}

// functions has all exported functions with a required argument: a context, reader, writer or source.
var functions = map[string]any{
	".: Run":                            heisen.Run,
	"driver: Run":                       driver.Run,
	"field: (*Watcher) Run":             new(field.Watcher).Run,
	"focus: DecodePlan":                 focus.DecodePlan,
	"focus: (*Plan) Encode":             new(focus.Plan).Encode,
	"focus: NewFilter":                  newFilter,
	"heal: DecodeProfile":               heal.DecodeProfile,
	"heal: Resolve":                     heal.Resolve,
	"heal: (*Profile) Encode":           new(heal.Profile).Encode,
	"racefuzz: Minimize":                racefuzz.Minimize,
	"racefuzz: Run":                     racefuzz.Run,
	"report: ReadBaseline":              report.ReadBaseline,
	"report: ReadJSON":                  report.ReadJSON,
	"report: ReadSuppressions":          report.ReadSuppressions,
	"report: WriteJSON":                 report.WriteJSON,
	"report: WriteColorText":            report.WriteColorText,
	"report: WriteText":                 report.WriteText,
	"section: Decode":                   section.Decode,
	"section: Encode":                   section.Encode,
	"trace: NewBinaryReader":            trace.NewBinaryReader,
	"trace: NewPrinter":                 trace.NewPrinter,
	"trace: NewReader":                  trace.NewReader,
	"trace: NewSTDReader":               trace.NewSTDReader,
	"trace: NewSTDWriter":               trace.NewSTDWriter,
	"trace: NewWriter":                  trace.NewWriter,
	"trace: Validate":                   trace.Validate,
	"tree: NewFilter":                   tree.NewFilter,
	"tree: NewSpanFilter":               tree.NewSpanFilter,
	"trace: (*Stats) WriteTo":           new(trace.Stats).WriteTo,
	"report: (*Baseline) Write":         new(report.Baseline).Write,
	"report: (*Brief) Write":            new(report.Brief).Write,
	"mcm/order: (*Solver) Solve":        newSolver().Solve,
	"mcm: (*Model) Race":                newModel().Race,
	"mcm: (*Model) Deadlock":            newModel().Deadlock,
	"mcm: (*Model) Between":             newModel().Between,
	"mcm: (*Model) WriteSMTLIB":         newModel().WriteSMTLIB,
	"mcm/order: (*Problem) WriteSMTLIB": new(order.Problem).WriteSMTLIB,
}

// meaningful has the arguments that are of a required type and may nevertheless be nil.
var meaningful = map[string]bool{
	"driver: Run argument 3": true, // no input
	"driver: Run argument 4": true, // no output
	"driver: Run argument 5": true,
}

func newSolver() *order.Solver {
	s, err := order.NewSolver([]int{1})
	if err != nil {
		panic(err)
	}
	return s
}

// newFilter is focus.NewFilter with names for all variables.
func newFilter(plan *focus.Plan, next heisen.Detector) (*focus.Filter, error) {
	return focus.NewFilter(plan, next, focus.Names{Variable: func(*heisen.Record) (focus.Variable, bool) { return focus.Variable{}, false }})
}

func newModel() *mcm.Model {
	m, err := mcm.NewModel(mcm.Window{})
	if err != nil {
		panic(err)
	}
	return m
}

// required has the types of arguments that must not be nil.
var required = map[string]reflect.Type{
	"context.Context": reflect.TypeFor[context.Context](),
	"io.Reader":       reflect.TypeFor[io.Reader](),
	"io.Writer":       reflect.TypeFor[io.Writer](),
	"heisen.Source":   reflect.TypeFor[heisen.Source](),
	"heisen.Detector": reflect.TypeFor[heisen.Detector](),
}

// good has arguments that are not nil, by type.
var good = map[reflect.Type]any{
	reflect.TypeFor[context.Context]():     context.Background(),
	reflect.TypeFor[io.Reader]():           strings.NewReader(""),
	reflect.TypeFor[io.Writer]():           io.Discard,
	reflect.TypeFor[http.ResponseWriter](): httptest.NewRecorder(),
	reflect.TypeFor[heisen.Source]():       heisen.Slice(nil),
	reflect.TypeFor[heisen.Detector]():     heisen.Tee(),
	reflect.TypeFor[heisen.Event]():        (&heisen.Record{Op: heisen.Read}).Event(),
	reflect.TypeFor[racefuzz.Strategy]():   racefuzz.RandomWalk(),
	reflect.TypeFor[racefuzz.Program]():    racefuzz.Program(func(*racefuzz.G) {}),
}

// goodArguments returns arguments for a function, none for its options.
func goodArguments(f reflect.Type) (args []reflect.Value) {
	n := f.NumIn()
	if f.IsVariadic() {
		n--
	}
	for i := range n {
		typ := f.In(i)
		switch value, ok := good[typ]; {
		case ok:
			args = append(args, reflect.ValueOf(value).Convert(typ))
		case typ.Kind() == reflect.Pointer:
			args = append(args, reflect.New(typ.Elem()))
		case typ.Kind() == reflect.Func:
			args = append(args, reflect.MakeFunc(typ, func([]reflect.Value) (results []reflect.Value) {
				for i := range typ.NumOut() {
					results = append(results, reflect.Zero(typ.Out(i)))
				}
				return results
			}))
		default:
			args = append(args, reflect.Zero(typ))
		}
	}
	return args
}

// call calls a function and returns what it panicked with, whether its last result is an error, and
// that error.
func call(f reflect.Value, args []reflect.Value) (panicked any, hasError bool, err error) {
	defer func() { panicked = recover() }()
	results := f.Call(args)
	if n := len(results); n > 0 && results[n-1].Type() == reflect.TypeFor[error]() {
		err, _ = results[n-1].Interface().(error)
		return nil, true, err
	}
	return nil, false, nil
}

// nilIsEmpty has the types of which a nil pointer stands for an empty value, as their documentation says.
var nilIsEmpty = []string{
	".: Symbols", "focus: Plan", "heal/lock: Held", "report: Baseline", "report: Resolver", "section: Index", "vclock: Clock",
}

// TestZeroReceivers calls all exported methods with zero values, and some with nil pointers.
func TestZeroReceivers(t *testing.T) {
	touchTree(t)
	found := map[string]bool{}
	receiver := regexp.MustCompile(`^(\S+: )func \(\*?(\w+)\) `)
	for _, line := range publicAPI(t) {
		if m := receiver.FindStringSubmatch(line); m != nil {
			found[m[1]+m[2]] = true
		}
	}
	compareKeys(t, "types with methods", found, methods)
	for name, typ := range methods {
		zero := reflect.New(reflect.TypeOf(typ.zero).Elem())
		for i := range zero.NumMethod() {
			checkZeroMethod(t, name+", zero."+zero.Type().Method(i).Name, zero.Method(i), typ.use)
		}
	}
	for _, name := range nilIsEmpty {
		null := reflect.ValueOf(methods[name].zero)
		for i := range null.NumMethod() {
			method := null.Method(i)
			if panicked, _, _ := call(method, goodArguments(method.Type())); panicked != nil {
				t.Errorf("%s, nil.%s panics with %v", name, null.Type().Method(i).Name, panicked)
			}
		}
	}
}

// checkZeroMethod calls the method of a zero value.
func checkZeroMethod(t *testing.T, name string, method reflect.Value, use zeroUse) {
	t.Helper()
	panicked, hasError, err := call(method, goodArguments(method.Type()))
	closes := strings.HasSuffix(name, ".Close")
	switch {
	case use == panics:
		if text := fmt.Sprint(panicked); panicked != nil && !strings.HasPrefix(text, "racefuzz: ") {
			t.Errorf("%s panics with %s", name, text)
		}
	case panicked != nil:
		t.Errorf("%s panics with %v", name, panicked)
	case !hasError || strings.HasSuffix(name, ".Unwrap"):
	case closes && err != nil:
		t.Errorf("%s: error %v, want nil", name, err)
	case !closes && (use == useless) != errors.Is(err, heisen.ErrZero):
		t.Errorf("%s: error %v", name, err)
	}
}

// TestRequiredArguments calls all exported functions and methods that take a context, reader, writer,
// source or detector with nil in its place.
func TestRequiredArguments(t *testing.T) {
	touchTree(t)
	found := map[string]bool{}
	signature := regexp.MustCompile(`^(\S+: )func ((?:\(\*?\w+\) )?\w+)(?:\[[^\]]*\])?\((.*)$`)
	for _, line := range publicAPI(t) {
		m := signature.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		parameters, _, _ := strings.Cut(m[3], ")")
		if m[1] == ".: " {
			parameters = strings.ReplaceAll(parameters, " Source", " heisen.Source")
		}
		for typ := range required {
			if strings.Contains(parameters, " "+typ) {
				found[m[1]+m[2]] = true
			}
		}
	}
	// Options have errors of their own. A Tee and a Filter take nil for a detector that is not there.
	delete(found, "racefuzz: WithDetector")
	delete(found, "mcm: WithContext")
	delete(found, "field: WithOutput")
	compareKeys(t, "functions with a required argument", found, functions)
	for name, f := range functions {
		function := reflect.ValueOf(f)
		checked := 0
		for i := range function.Type().NumIn() {
			typ := function.Type().In(i)
			if !slices.Contains(slices.Collect(maps.Values(required)), typ) || meaningful[fmt.Sprintf("%s argument %d", name, i+1)] {
				continue
			}
			checked++
			args := goodArguments(function.Type())
			args[i] = reflect.Zero(typ)
			panicked, _, err := call(function, args)
			what := fmt.Sprintf("the %s is nil", strings.ToLower(typ.Name()))
			if panicked != nil || !errors.Is(err, heisen.ErrOption) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s, argument %d nil: error %v, panic %v, want one that says %q", name, i+1, err, panicked, what)
			}
		}
		if checked == 0 {
			t.Errorf("%s has no required argument", name)
		}
	}
}

// TestOptionNames checks that a type called Option is accepted by every constructor of its package, and
// that a constructor accepts it directly or by way of a type that Option contains.
func TestOptionNames(t *testing.T) {
	lines := publicAPI(t)
	contains := map[string][]string{} // types by the option type that contains them
	embedded := regexp.MustCompile(`^(\S+): type (\w*Option), embedded (\w+)$`)
	for _, line := range lines {
		if m := embedded.FindStringSubmatch(line); m != nil {
			contains[m[1]+": "+m[2]] = append(contains[m[1]+": "+m[2]], m[1]+": "+m[3])
		}
	}
	var accepted func(from, want string) bool
	accepted = func(from, want string) bool {
		return from == want || slices.ContainsFunc(contains[from], func(c string) bool { return accepted(c, want) })
	}
	takes := regexp.MustCompile(`^(\S+): func (?:\(.*?\) )?(\w+)\(.*\.\.\.(\w*Option)\)`)
	checked := 0
	for _, line := range lines {
		m := takes.FindStringSubmatch(line)
		if m == nil || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, m[1]+": type Option ") }) {
			continue
		}
		checked++
		if !accepted(m[1]+": Option", m[1]+": "+m[3]) {
			t.Errorf("%s.%s takes %s, and an Option is none", m[1], m[2], m[3])
		}
	}
	if checked < 10 {
		t.Errorf("only %d functions of packages with a type Option take options", checked)
	}
}

// compareKeys reports what is missing in a table, and what is there without need.
func compareKeys[V any](t *testing.T, what string, found map[string]bool, table map[string]V) {
	t.Helper()
	for name := range found {
		if _, ok := table[name]; !ok {
			t.Errorf("%s: %s is not in the table", what, name)
		}
	}
	for name := range table {
		if !found[name] {
			t.Errorf("%s: %s is in the table and not in the API", what, name)
		}
	}
}
