package static

import "go/types"

// A Fact is something that is known of a function of the standard library. A set of facts is their sum.
type Fact uint32

const (
	// NeverReturns: the function panics, or ends the goroutine or the program.
	NeverReturns Fact = 1 << iota
	// Prompt: the function waits for no other goroutine, and for no input or output, other than in functions, methods,
	// readers and writers that it is given. It may hold locks of its own for a short time.
	Prompt
	// Wraps: the function makes something of a reader or writer that it is given, and uses neither yet.
	Wraps
	// WritesTo: the function waits only for the writer that is its first argument. So does a method of what it returns, if
	// that is a type of the same package.
	WritesTo
	// Disk: the function waits for the disk at most. A function that opens a file by name for reading or for writing
	// only is none of these, and neither is a plain read or write: the file may be a pipe.
	Disk
	// CallsFunctionsOnly: of what it is given, the function calls functions, but no methods of values.
	CallsFunctionsOnly
	// StartsNothing: the function starts no goroutine that runs code of its callers. It may call functions that it is
	// given.
	StartsNothing
	// CallsElsewhere: the function calls the functions that it is given in other goroutines, and not before it returns.
	CallsElsewhere
	// Forgets: the function keeps nothing that it is given, and passes it to nobody. It may return it, or parts of it.
	Forgets
	// HandsOver: the function keeps nothing that it is given, returns nothing that leads to it, and passes it to others
	// only in ways that order their accesses after the call.
	HandsOver
	// Indivisible: the function does one step, which synchronizes.
	Indivisible
	// Unnoticed: no other goroutine notices whether the function is called, and when.
	Unnoticed
	// OnlyLooks: the function accesses nothing but its arguments and what these lead to.
	OnlyLooks
	// Prints: the function prints its arguments in one step, to standard output or the standard logger.
	Prints
	// ChangesElements: the function writes elements of slices and maps that it is given.
	ChangesElements
)

// Has reports whether all of these facts are known.
func (f Fact) Has(facts Fact) bool { return f&facts == facts }

// Known returns what is known of a function. Of a function that is not of the standard library, and of nil, it
// is nothing.
func Known(fn *types.Func) Fact {
	if fn == nil || fn.Pkg() == nil { // the method of an error has no package
		return 0
	}
	fn = fn.Origin()
	facts := ofPackage[fn.Pkg().Path()]
	if recv := fn.Signature().Recv(); recv != nil {
		facts = ofType[typeName(named(recv.Type()))].of(facts)
		if types.IsInterface(recv.Type()) {
			facts = 0 // any type may have the method
		}
	}
	return ofFunction[fn.FullName()].of(facts)
}

// FactsOf returns what is known of all functions of a package that have no entry of their own.
func FactsOf(path string) Fact { return ofPackage[path] }

const (
	// calculates has the facts of packages that only compute, and may call methods of what they are given.
	calculates = Prompt | StartsNothing
	// calculatesAlone has those of packages that call no methods, and keep nothing.
	calculatesAlone = calculates | CallsFunctionsOnly | HandsOver
	// looks has those of packages that do nothing else than to look at their arguments.
	looks = calculatesAlone | Forgets | OnlyLooks
)

// ofPackage has the facts of all functions of a package without an exception.
var ofPackage = map[string]Fact{
	"bufio":            StartsNothing,
	"bytes":            calculatesAlone,
	"cmp":              looks,
	"container/heap":   calculates,
	"container/list":   calculates,
	"container/ring":   calculates,
	"context":          Prompt,
	"crypto/md5":       calculates,
	"crypto/rand":      StartsNothing,
	"crypto/sha1":      calculates,
	"crypto/sha256":    calculates,
	"crypto/sha512":    calculates,
	"crypto/subtle":    calculates,
	"encoding/ascii85": calculates,
	"encoding/base32":  calculates,
	"encoding/base64":  calculates,
	"encoding/binary":  calculates | HandsOver,
	"encoding/csv":     StartsNothing,
	"encoding/hex":     calculates,
	"encoding/json":    StartsNothing | HandsOver,
	"encoding/pem":     calculates,
	"errors":           calculates | HandsOver,
	"flag":             StartsNothing,
	"fmt":              StartsNothing | HandsOver,
	"hash":             calculates,
	"hash/adler32":     calculates | CallsFunctionsOnly,
	"hash/crc32":       calculates | CallsFunctionsOnly,
	"hash/crc64":       calculates | CallsFunctionsOnly,
	"hash/fnv":         calculates | CallsFunctionsOnly,
	"hash/maphash":     calculates,
	"html":             calculates,
	"io":               StartsNothing,
	"iter":             Prompt,
	"log":              StartsNothing | HandsOver,
	"log/slog":         HandsOver,
	"maps":             calculatesAlone,
	"math":             looks,
	"math/big":         calculates,
	"math/bits":        looks,
	"math/cmplx":       looks,
	"math/rand":        calculates | HandsOver,
	"math/rand/v2":     calculates | HandsOver,
	"net/netip":        calculates,
	"net/url":          calculates,
	"os":               StartsNothing,
	"os/signal":        HandsOver,
	"path":             calculates | HandsOver,
	"path/filepath":    calculates,
	"reflect":          Prompt | HandsOver,
	"regexp":           calculates,
	"regexp/syntax":    calculates,
	"runtime":          calculatesAlone,
	"slices":           calculatesAlone,
	"sort":             calculates | CallsFunctionsOnly | HandsOver | Forgets | OnlyLooks,
	"strconv":          looks,
	"strings":          looks,
	"sync":             Prompt | CallsFunctionsOnly | HandsOver,
	"sync/atomic":      calculatesAlone,
	"testing":          Prompt | HandsOver,
	"text/tabwriter":   StartsNothing,
	"time":             calculates | HandsOver,
	"unicode":          looks,
	"unicode/utf16":    looks,
	"unicode/utf8":     looks,
	"unique":           Prompt,
	"unsafe":           calculatesAlone,
}

// exception changes the facts of the package.
type exception struct{ is, not Fact }

func (e exception) of(facts Fact) Fact { return facts&^e.not | e.is }

// ofType has the exceptions for all methods of a type.
var ofType = map[string]exception{
	"math/rand.Rand":    {not: HandsOver}, // its source may be of the module
	"math/rand/v2.Rand": {not: HandsOver},
	"sort.Float64Slice": {not: Forgets | OnlyLooks},
	"sort.IntSlice":     {not: Forgets | OnlyLooks},
	"sort.StringSlice":  {not: Forgets | OnlyLooks},
	"strings.Reader":    {not: Forgets | OnlyLooks},
	"strings.Replacer":  {not: Forgets | OnlyLooks},
	"time.Duration":     {is: OnlyLooks},
	"time.Month":        {is: OnlyLooks},
	"time.Time":         {is: Forgets | OnlyLooks},
	"time.Timer":        {not: StartsNothing},
	"time.Weekday":      {is: OnlyLooks},
}

// ofFunction has the exceptions for single functions and methods.
var ofFunction = map[string]exception{
	"bufio.NewReader":                  {is: Prompt | Wraps},
	"bufio.NewReaderSize":              {is: Prompt | Wraps},
	"bufio.NewScanner":                 {is: Prompt | Wraps},
	"bufio.NewWriter":                  {is: WritesTo},
	"bufio.NewWriterSize":              {is: WritesTo},
	"(*bytes.Buffer).ReadFrom":         {not: CallsFunctionsOnly},
	"(*bytes.Buffer).WriteTo":          {not: CallsFunctionsOnly},
	"bytes.NewBuffer":                  {not: HandsOver},
	"bytes.NewReader":                  {not: HandsOver},
	"(*bytes.Reader).WriteTo":          {not: CallsFunctionsOnly},
	"context.AfterFunc":                {is: CallsElsewhere},
	"context.Background":               {is: StartsNothing},
	"context.Cause":                    {is: StartsNothing},
	"context.TODO":                     {is: StartsNothing},
	"context.WithValue":                {is: StartsNothing},
	"crypto/rand.Read":                 {is: ChangesElements},
	"encoding/binary.Write":            {is: WritesTo},
	"encoding/csv.NewWriter":           {is: WritesTo},
	"encoding/gob.NewEncoder":          {is: WritesTo},
	"encoding/hex.NewEncoder":          {is: WritesTo},
	"encoding/json.Compact":            {is: Prompt},
	"encoding/json.HTMLEscape":         {is: Prompt},
	"encoding/json.Indent":             {is: Prompt},
	"encoding/json.Marshal":            {is: Prompt},
	"encoding/json.MarshalIndent":      {is: Prompt},
	"encoding/json.NewDecoder":         {not: HandsOver},
	"encoding/json.NewEncoder":         {is: WritesTo, not: HandsOver},
	"encoding/json.Unmarshal":          {is: Prompt},
	"encoding/json.Valid":              {is: Prompt},
	"encoding/xml.Marshal":             {is: Prompt},
	"encoding/xml.MarshalIndent":       {is: Prompt},
	"encoding/xml.NewEncoder":          {is: WritesTo},
	"encoding/xml.Unmarshal":           {is: Prompt},
	"errors.Join":                      {not: HandsOver},
	"errors.New":                       {is: CallsFunctionsOnly | Unnoticed},
	"fmt.Append":                       {is: Prompt, not: HandsOver},
	"fmt.Appendf":                      {is: Prompt, not: HandsOver},
	"fmt.Appendln":                     {is: Prompt, not: HandsOver},
	"fmt.Errorf":                       {is: Prompt | OnlyLooks},
	"fmt.Fprint":                       {is: WritesTo},
	"fmt.Fprintf":                      {is: WritesTo},
	"fmt.Fprintln":                     {is: WritesTo},
	"fmt.Print":                        {is: Prints},
	"fmt.Printf":                       {is: Prints},
	"fmt.Println":                      {is: Prints},
	"fmt.Sprint":                       {is: Prompt | OnlyLooks},
	"fmt.Sprintf":                      {is: Prompt | OnlyLooks},
	"fmt.Sprintln":                     {is: Prompt | OnlyLooks},
	"fmt.Sscan":                        {is: Prompt},
	"fmt.Sscanf":                       {is: Prompt},
	"fmt.Sscanln":                      {is: Prompt},
	"io.LimitReader":                   {is: Prompt | Wraps},
	"io.MultiReader":                   {is: Prompt | Wraps},
	"io.MultiWriter":                   {is: Prompt | Wraps},
	"io.NewSectionReader":              {is: Prompt | Wraps},
	"io.NopCloser":                     {is: Prompt | Wraps},
	"io.ReadAtLeast":                   {is: ChangesElements},
	"io.ReadFull":                      {is: ChangesElements},
	"io.TeeReader":                     {is: Prompt | Wraps},
	"io.WriteString":                   {is: WritesTo},
	"log.Fatal":                        {is: NeverReturns},
	"log.Fatalf":                       {is: NeverReturns},
	"log.Fatalln":                      {is: NeverReturns},
	"(*log.Logger).Fatal":              {is: NeverReturns},
	"(*log.Logger).Fatalf":             {is: NeverReturns},
	"(*log.Logger).Fatalln":            {is: NeverReturns},
	"(*log.Logger).Panic":              {is: NeverReturns},
	"(*log.Logger).Panicf":             {is: NeverReturns},
	"(*log.Logger).Panicln":            {is: NeverReturns},
	"(*log.Logger).SetOutput":          {not: HandsOver},
	"log.New":                          {not: HandsOver},
	"log.Panic":                        {is: NeverReturns},
	"log.Panicf":                       {is: NeverReturns},
	"log.Panicln":                      {is: NeverReturns},
	"log.Print":                        {is: Prints},
	"log.Printf":                       {is: Prints},
	"log.Println":                      {is: Prints},
	"log.SetOutput":                    {not: HandsOver},
	"(*log/slog.Logger).With":          {not: HandsOver},
	"log/slog.New":                     {not: HandsOver},
	"log/slog.NewJSONHandler":          {not: HandsOver},
	"log/slog.NewLogLogger":            {not: HandsOver},
	"log/slog.NewTextHandler":          {not: HandsOver},
	"log/slog.SetDefault":              {not: HandsOver},
	"log/slog.With":                    {not: HandsOver},
	"maps.All":                         {not: HandsOver},
	"maps.Copy":                        {is: ChangesElements},
	"maps.DeleteFunc":                  {is: ChangesElements},
	"maps.Insert":                      {is: ChangesElements},
	"maps.Keys":                        {not: HandsOver},
	"maps.Values":                      {not: HandsOver},
	"math/rand.New":                    {not: HandsOver},
	"math/rand.Read":                   {is: ChangesElements},
	"math/rand/v2.New":                 {not: HandsOver},
	"net/http.CanonicalHeaderKey":      {is: Prompt},
	"(net/http.Header).Add":            {is: Prompt},
	"(net/http.Header).Clone":          {is: Prompt},
	"(net/http.Header).Del":            {is: Prompt},
	"(net/http.Header).Get":            {is: Prompt},
	"(net/http.Header).Set":            {is: Prompt},
	"(net/http.Header).Values":         {is: Prompt},
	"net/http.NewRequest":              {is: Prompt | Wraps},
	"net/http.NewRequestWithContext":   {is: Prompt | Wraps},
	"(*net/http.Request).BasicAuth":    {is: Prompt},
	"(*net/http.Request).Context":      {is: Prompt},
	"(*net/http.Request).Cookie":       {is: Prompt},
	"(*net/http.Request).PathValue":    {is: Prompt},
	"(*net/http.Request).Referer":      {is: Prompt},
	"(*net/http.Request).SetPathValue": {is: Prompt},
	"(*net/http.Request).UserAgent":    {is: Prompt},
	"(*net/http.Request).WithContext":  {is: Prompt},
	"net/http.StatusText":              {is: Prompt},
	"os.Chdir":                         {is: Disk},
	"os.Chmod":                         {is: Disk},
	"os.Chown":                         {is: Disk},
	"os.Chtimes":                       {is: Disk},
	"os.Create":                        {is: Disk},
	"os.CreateTemp":                    {is: Disk},
	"os.Exit":                          {is: NeverReturns | Prompt},
	"(*os.File).Chdir":                 {is: Disk},
	"(*os.File).Chmod":                 {is: Disk},
	"(*os.File).Chown":                 {is: Disk},
	"(*os.File).Close":                 {is: Disk},
	"(*os.File).Fd":                    {is: Prompt},
	"(*os.File).Name":                  {is: Prompt},
	"(*os.File).ReadAt":                {is: Disk},
	"(*os.File).ReadDir":               {is: Disk},
	"(*os.File).Readdir":               {is: Disk},
	"(*os.File).Readdirnames":          {is: Disk},
	"(*os.File).Seek":                  {is: Disk},
	"(*os.File).Stat":                  {is: Disk},
	"(*os.File).Sync":                  {is: Disk},
	"(*os.File).Truncate":              {is: Disk},
	"(*os.File).WriteAt":               {is: Disk},
	"os.Getenv":                        {is: Prompt},
	"os.Getgid":                        {is: Prompt},
	"os.Getpid":                        {is: Prompt},
	"os.Getppid":                       {is: Prompt},
	"os.Getuid":                        {is: Prompt},
	"os.Getwd":                         {is: Disk},
	"os.IsExist":                       {is: Prompt},
	"os.IsNotExist":                    {is: Prompt},
	"os.IsPermission":                  {is: Prompt},
	"os.Lchown":                        {is: Disk},
	"os.Link":                          {is: Disk},
	"os.LookupEnv":                     {is: Prompt},
	"os.Lstat":                         {is: Disk},
	"os.Mkdir":                         {is: Disk},
	"os.MkdirAll":                      {is: Disk},
	"os.MkdirTemp":                     {is: Disk},
	"os.ReadDir":                       {is: Disk},
	"os.Readlink":                      {is: Disk},
	"os.Remove":                        {is: Disk},
	"os.RemoveAll":                     {is: Disk},
	"os.Rename":                        {is: Disk},
	"os.Stat":                          {is: Disk},
	"os.Symlink":                       {is: Disk},
	"os.TempDir":                       {is: Disk},
	"reflect.Select":                   {not: Prompt},
	"(reflect.Value).Call":             {not: Prompt},
	"(reflect.Value).CallSlice":        {not: Prompt},
	"(reflect.Value).Recv":             {not: Prompt},
	"(reflect.Value).Send":             {not: Prompt},
	"reflect.ValueOf":                  {not: HandsOver},
	"runtime.AddCleanup":               {is: CallsElsewhere, not: StartsNothing},
	"runtime.Goexit":                   {is: NeverReturns},
	"runtime.Gosched":                  {is: Unnoticed},
	"runtime.KeepAlive":                {is: Unnoticed},
	"runtime.NumCPU":                   {is: Unnoticed},
	"runtime.SetFinalizer":             {is: CallsElsewhere, not: StartsNothing},
	"slices.All":                       {not: HandsOver},
	"slices.Backward":                  {not: HandsOver},
	"slices.Chunk":                     {not: HandsOver},
	"slices.Clip":                      {not: HandsOver},
	"slices.Compact":                   {is: ChangesElements, not: HandsOver},
	"slices.CompactFunc":               {is: ChangesElements, not: HandsOver},
	"slices.Delete":                    {is: ChangesElements, not: HandsOver},
	"slices.DeleteFunc":                {is: ChangesElements, not: HandsOver},
	"slices.Grow":                      {not: HandsOver},
	"slices.Insert":                    {is: ChangesElements, not: HandsOver},
	"slices.Replace":                   {is: ChangesElements, not: HandsOver},
	"slices.Reverse":                   {is: ChangesElements},
	"slices.Sort":                      {is: ChangesElements},
	"slices.SortFunc":                  {is: ChangesElements},
	"slices.SortStableFunc":            {is: ChangesElements},
	"slices.Values":                    {not: HandsOver},
	"sort.Float64s":                    {is: ChangesElements},
	"sort.Ints":                        {is: ChangesElements},
	"sort.IsSorted":                    {not: CallsFunctionsOnly | Forgets | OnlyLooks},
	"sort.Reverse":                     {not: CallsFunctionsOnly | Forgets | OnlyLooks},
	"sort.Slice":                       {is: ChangesElements},
	"sort.SliceStable":                 {is: ChangesElements},
	"sort.Sort":                        {is: ChangesElements, not: CallsFunctionsOnly | Forgets | OnlyLooks},
	"sort.Stable":                      {is: ChangesElements, not: CallsFunctionsOnly | Forgets | OnlyLooks},
	"sort.Strings":                     {is: ChangesElements},
	"strings.NewReader":                {not: Forgets | HandsOver | OnlyLooks},
	"strings.NewReplacer":              {not: Forgets | HandsOver | OnlyLooks},
	"(*strings.Reader).WriteTo":        {not: CallsFunctionsOnly},
	"(*strings.Replacer).WriteString":  {not: CallsFunctionsOnly},
	"(*sync.Cond).Broadcast":           {is: Forgets | Indivisible},
	"(*sync.Cond).Signal":              {is: Forgets | Indivisible},
	"(*sync.Cond).Wait":                {is: Forgets, not: Prompt | CallsFunctionsOnly},
	"(*sync.Map).CompareAndDelete":     {is: Indivisible},
	"(*sync.Map).CompareAndSwap":       {is: Indivisible},
	"(*sync.Map).Delete":               {is: Indivisible},
	"(*sync.Map).Load":                 {is: Indivisible},
	"(*sync.Map).LoadAndDelete":        {is: Indivisible},
	"(*sync.Map).LoadOrStore":          {is: Indivisible},
	"(*sync.Map).Store":                {is: Indivisible},
	"(*sync.Map).Swap":                 {is: Indivisible},
	"(*sync.Mutex).Lock":               {is: Forgets, not: Prompt},
	"(*sync.Mutex).TryLock":            {is: Forgets},
	"(*sync.Mutex).Unlock":             {is: Forgets},
	"sync.NewCond":                     {is: StartsNothing, not: CallsFunctionsOnly},
	"(*sync.Once).Do":                  {is: Forgets, not: Prompt},
	"sync.OnceFunc":                    {not: Prompt},
	"sync.OnceValue":                   {not: Prompt},
	"sync.OnceValues":                  {not: Prompt},
	"(*sync.Pool).Put":                 {is: Indivisible},
	"(*sync.RWMutex).Lock":             {is: Forgets, not: Prompt},
	"(*sync.RWMutex).RLock":            {is: Forgets, not: Prompt},
	"(*sync.RWMutex).RUnlock":          {is: Forgets},
	"(*sync.RWMutex).TryLock":          {is: Forgets},
	"(*sync.RWMutex).TryRLock":         {is: Forgets},
	"(*sync.RWMutex).Unlock":           {is: Forgets},
	"(*sync.WaitGroup).Add":            {is: Forgets | Indivisible},
	"(*sync.WaitGroup).Done":           {is: Forgets | Indivisible},
	"(*sync.WaitGroup).Go":             {is: CallsElsewhere},
	"(*sync.WaitGroup).Wait":           {is: Forgets, not: Prompt},
	"syscall.Exit":                     {is: NeverReturns},
	"(*testing.B).Run":                 {not: Prompt},
	"(*testing.B).RunParallel":         {not: Prompt},
	"(*testing.F).Fuzz":                {not: Prompt},
	"(*testing.T).Parallel":            {not: Prompt},
	"(*testing.T).Run":                 {not: Prompt},
	"(testing.TB).FailNow":             {is: NeverReturns},
	"(testing.TB).Fatal":               {is: NeverReturns},
	"(testing.TB).Fatalf":              {is: NeverReturns},
	"(testing.TB).Skip":                {is: NeverReturns},
	"(testing.TB).SkipNow":             {is: NeverReturns},
	"(testing.TB).Skipf":               {is: NeverReturns},
	"(*testing.common).FailNow":        {is: NeverReturns},
	"(*testing.common).Fatal":          {is: NeverReturns},
	"(*testing.common).Fatalf":         {is: NeverReturns},
	"(*testing.common).Skip":           {is: NeverReturns},
	"(*testing.common).SkipNow":        {is: NeverReturns},
	"(*testing.common).Skipf":          {is: NeverReturns},
	"time.AfterFunc":                   {is: CallsElsewhere, not: StartsNothing},
	"time.Now":                         {is: Unnoticed},
	"time.Since":                       {is: Unnoticed},
	"time.Sleep":                       {is: Unnoticed, not: Prompt},
	"time.Until":                       {is: Unnoticed},
}
