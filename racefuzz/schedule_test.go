package racefuzz_test

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/racefuzz"
)

var update = flag.Bool("update", false, "write golden files")

var bank = racefuzz.Schedule{
	Go: "go1.26.8", Platform: "linux/amd64",
	Command: "test", Program: "./bank", Args: []string{"-test.run", "Test Transfer|Close"}, Tags: []string{"slow"},
	Packages: []string{"./...", ""}, Procs: 4, Strategy: "race-directed patience=500", Seed: math.MaxUint64,
	Targets: []racefuzz.Target{
		{Roles: racefuzz.First | racefuzz.Remote, Mode: "read", Place: "bank.go:31", Func: "bank.(*Account).Withdraw"},
		{Roles: racefuzz.Second, Mode: "write", Place: "my bank.go:44"},
	},
	Outcome: "panic", Message: "balance is \"-1\"\n",
	Steps: 3104, Hash: 0xf01c2437ab0de55,
	Choices: choices(0, 3, 4, 5, 6, 7, 100, 101, 200, 300, 400, 5000000000),
}

func choices(steps ...uint64) (list []racefuzz.Choice) {
	for i, s := range steps {
		list = append(list, racefuzz.Choice{Step: s, ID: uint32(i / 6)})
	}
	return list
}

func TestScheduleGolden(t *testing.T) {
	long := bank
	rng := rand.New(rand.NewPCG(1, 1))
	long.Choices = nil
	step := uint64(0)
	for range 60 {
		step += 1 + rng.Uint64N(30)
		long.Choices = append(long.Choices, racefuzz.Choice{Step: step, ID: rng.Uint32N(12)})
	}
	turns := racefuzz.Schedule{Strategy: "follow", Seed: 1}
	for range 20 {
		turns.Turns = append(turns.Turns, racefuzz.Turn{ID: rng.Uint32N(12), Until: rng.Uint64N(99)<<32 + rng.Uint64N(9)})
	}
	stopped := racefuzz.Schedule{Strategy: "replay", Virtual: 10 * time.Minute, Stop: 2_000_000, Spin: 1 << 20, Prologue: 3, Outcome: "hang"}
	var got []byte
	for _, s := range []racefuzz.Schedule{bank, {}, long, turns, stopped} {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got = append(append(got, text...), '\n')
	}
	const golden = "testdata/schedules.golden"
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	var back racefuzz.Schedule
	if err := back.UnmarshalText(got); err != nil || !reflect.DeepEqual(back, bank) {
		t.Errorf("%+v, %v", back, err)
	}
	// As it comes out of a bug report.
	pasted := strings.ReplaceAll("\n"+string(got), "\n", "\r\n\t  ")
	if err := back.UnmarshalText([]byte(pasted)); err != nil || !reflect.DeepEqual(back, bank) {
		t.Errorf("pasted: %+v, %v", back, err)
	}
}

func TestScheduleRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	words := []string{"", "a", "a b", `"`, `\`, "\xff", "ä", "\u00a0", "\t", "end", "x:1*2", "\ufeff"}
	word := func() string { return words[rng.IntN(len(words))] }
	for range 2000 {
		s := racefuzz.Schedule{Go: word(), Platform: word(), Command: word(), Program: word(), Strategy: word(),
			Seed: rng.Uint64() >> rng.IntN(64), Outcome: word(), Steps: rng.Uint64N(3), Hash: rng.Uint64N(3), Procs: rng.IntN(3), Virtual: time.Duration(rng.Int64N(3) * rng.Int64())}
		s.Virtual, s.Stop = max(s.Virtual, 0), rng.Uint64N(2)*rng.Uint64()
		if s.Outcome != "" {
			s.Message = word()
		}
		for range rng.IntN(3) {
			s.Args = append(s.Args, word())
			s.Targets = append(s.Targets, racefuzz.Target{Roles: racefuzz.Roles(1 + rng.IntN(63)), Mode: word(), Place: word(), Func: word()})
		}
		step := uint64(rng.IntN(2))
		for range rng.IntN(40) {
			s.Choices = append(s.Choices, racefuzz.Choice{Step: step, ID: rng.Uint32N(2), Case: rng.Uint32N(3) * rng.Uint32N(2)})
			step += 1 + rng.Uint64N(2)
		}
		for range rng.IntN(30) * rng.IntN(2) {
			s.Turns = append(s.Turns, racefuzz.Turn{ID: rng.Uint32() >> 1, Until: rng.Uint64()})
		}
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "  ") && len(line) > 76 {
				t.Fatalf("a long line: %q", line)
			}
		}
		var back racefuzz.Schedule
		if err := back.UnmarshalText(text); err != nil || !reflect.DeepEqual(back, s) {
			t.Fatalf("%s\n%v\n%+v\n%+v", text, err, s, back)
		}
	}
}

// TestScheduleCutOff checks that every proper prefix of a schedule is recognized as one that ends too
// early.
func TestScheduleCutOff(t *testing.T) {
	s := racefuzz.Schedule{
		Go: "go1.26.1", Platform: "linux/amd64", Command: "test", Program: "./my bank", Args: []string{"-a", ""},
		Tags: []string{"t"}, Packages: []string{"./..."}, Procs: 4, Strategy: "pct depth=3 steps=100", Seed: 12,
		Targets: []racefuzz.Target{{Roles: racefuzz.Entry, Mode: "read", Place: "bank.go:31", Func: "f", Above: 2}},
		Outcome: "panic", Message: "negative \"balance\"", Steps: 31, Hash: 0x9f01c2437ab0de55,
		Turns:   []racefuzz.Turn{{ID: 1, Until: 3<<32 | 4}, {ID: 0, Until: 17 << 32}},
		Choices: []racefuzz.Choice{{Step: 17, ID: 3}, {Step: 120, ID: racefuzz.NoTask}, {Step: 121, ID: 2}, {Step: 122, ID: 2}},
	}
	text, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	complete := strings.TrimSuffix(string(text), "\n") // the end of the last line is not needed
	for n := range len(complete) {
		var back racefuzz.Schedule
		if err := back.UnmarshalText(text[:n]); !errors.Is(err, racefuzz.ErrTruncated) {
			t.Errorf("%q: error %v", text[:n], err)
		}
	}
	if err := new(racefuzz.Schedule).UnmarshalText([]byte(complete)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"hello", "heisen sections", "heisen schedule 4"} {
		if err := new(racefuzz.Schedule).UnmarshalText([]byte(text)); err == nil || errors.Is(err, racefuzz.ErrTruncated) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestScheduleErrors(t *testing.T) {
	const head, head2 = "heisen schedule 1\n", "heisen schedule 2\n"
	for _, c := range []struct {
		text string
		line int
		is   error
		says string
	}{
		{"", 1, racefuzz.ErrNoSchedule, ""},
		{"heisen sections 1\n", 1, racefuzz.ErrNoSchedule, ""},
		{"heisen schedule 4\n", 1, racefuzz.ErrVersion, `"4"`},
		{head2 + "turns 2\n 0:1+0\n", 4, racefuzz.ErrTruncated, ""},
		{head2 + "turns 1\n 0:1+0 0:2+0\n", 3, racefuzz.ErrTooManyChoices, ""},
		{head2 + "turns 1\n 0:1\n", 3, nil, `"0:1" is not a turn`},
		{head2 + "turns 1\n 4294967295:1+1\n", 3, nil, "is not a turn"},
		{head2 + "turns 99999999\n", 2, racefuzz.ErrTooManyChoices, ""},
		{head2 + "turns\n", 2, nil, "want the number of choices or turns"},
		{head2 + "turns 0\nturns 0\n", 3, nil, "occurs twice"},
		{head + "turns 0\n", 2, nil, `unknown key "turns"`},
		{head, 2, racefuzz.ErrTruncated, ""},
		{head + "choices 1\n", 3, racefuzz.ErrTruncated, ""},
		{head + "choices 1\n  3:1\n", 4, racefuzz.ErrTruncated, ""},
		{head + "choices 2\n  3:1\nend\n", 4, nil, "1 choices, but 2 are announced"},
		{head + "choices 1\n  3:1 1:1\nend\n", 3, racefuzz.ErrTooManyChoices, ""},
		{head + "choices 99999999\n", 2, racefuzz.ErrTooManyChoices, ""},
		{head + "choices 4194304\n 1:1*99999999999999\n", 3, racefuzz.ErrTooManyChoices, ""},
		{head + "choices 2\n18446744073709551615:1 1:1\nend", 3, nil, "too large"},
		{head + "choices 2\n1:1 0:1\nend", 3, nil, `"0:1" is not a choice`},
		{head + "choices 1\n1\nend", 3, nil, `"1" is not a choice`},
		{head + "choices 1\n1:4294967295\nend", 3, nil, "is not a choice"},
		{head + "choices\n", 2, nil, "want the number of choices or turns"},
		{head + "\n\nseed x\n", 4, nil, `"x" is not a number`},
		{head + "seed 01\n", 2, nil, `"01" is not a number`},
		{head + "seed 1\nseed 1\n", 3, nil, "occurs twice"},
		{head + "seed 1 2\n", 2, nil, "has 2 words"},
		{head + "hash xyz\n", 2, nil, "not a hash"},
		{head + "colour red\n", 2, nil, `unknown key "colour"`},
		{head + "args\n", 2, nil, "has no words"},
		{head + "target third read x y\n", 2, nil, `role "third"`},
		{head + "target first,first read x y\n", 2, nil, "twice"},
		{head + "target first read x\n", 2, nil, "has 3 words"},
		{head + "args \"a\n", 2, nil, "not terminated"},
		{head + "args \"a\"b\n", 2, nil, "no blank after"},
		{head + "args a\"b\n", 2, nil, "quote within"},
		{head + "outcome a b c\n", 2, nil, "an outcome and at most one message"},
		{head + "outcome \"\" b\n", 2, nil, "an outcome and at most one message"},
		{head + "procs 99999999999\n", 2, nil, "is not a number"},
		{head + "virtual 10m0s\n", 2, nil, "unknown key"},
		{head + "stop 100\n", 2, nil, "unknown key"},
		{head2 + "stop soon\n", 2, nil, "soon"},
		{head2 + "virtual 600s\n", 2, nil, "is no duration"},
		{head2 + "virtual -1s\n", 2, nil, "is no duration"},
		{head2 + "virtual soon\n", 2, nil, "is no duration"},
		{head2 + "virtual 1s 2s\n", 2, nil, "has 2 words, want 1"},
	} {
		s := bank
		err := s.UnmarshalText([]byte(c.text))
		var e *racefuzz.ScheduleError
		if !errors.As(err, &e) || e.Line != c.line || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.text, err)
		}
		if !reflect.DeepEqual(s, bank) {
			t.Errorf("%q changes the schedule", c.text)
		}
	}
	for i, s := range []racefuzz.Schedule{
		{Procs: -1}, {Virtual: -1}, {Targets: []racefuzz.Target{{}}}, {Targets: []racefuzz.Target{{Roles: 255}}},
		{Choices: choices(3, 3)}, {Choices: choices(3, 2)}, {Message: "without an outcome"},
		{Turns: []racefuzz.Turn{{ID: racefuzz.NoTask}}},
	} {
		if _, err := s.MarshalText(); !errors.Is(err, racefuzz.ErrSchedule) {
			t.Errorf("schedule %d: %v", i, err)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	text, err := bank.MarshalText()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("heisen schedule 1\nchoices 3\n 0:1 5:0*2\nend\n"))
	f.Add([]byte("heisen schedule 2\nturns 3\n 0:1+2 1:0+7\n 0:4294967295+0\nchoices 0\nend\n"))
	f.Add([]byte("heisen schedule 3\nprologue 1\nchoices 0\nend\n"))
	f.Add([]byte("heisen schedule 1\nargs \"a b\" c\ntarget first,end read x.go:1 f\nchoices 0\nend"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s, back racefuzz.Schedule
		if err := s.UnmarshalText(text); err != nil {
			var e *racefuzz.ScheduleError
			if !errors.As(err, &e) || e.Line < 1 || e.Line > bytes.Count(text, []byte("\n"))+2 {
				t.Fatalf("%v", err)
			}
			return
		}
		out, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalText(out); err != nil || !reflect.DeepEqual(s, back) {
			t.Fatalf("%v\n%+v\n%+v", err, s, back)
		}
	})
}
