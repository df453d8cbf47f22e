//go:build heisen_inject

package runtime

// The options of Go's race detector, in the environment variable GORACE. They are read during
// initialization. Options are separated by spaces, commas, colons or new lines. A value may stand in
// quotation marks.

const heisenOptionsEnv = "GORACE"

// heisenOptions has the options with their defaults. There is no field for history_size: the stacks
// of all accesses are kept, however long ago they were.
var heisenOptions = struct {
	logPath     string // reports go to this file, with the process ID behind the name; "" is standard error
	stripPrefix string // file names are printed from behind this text
	exitCode    int32  // instead of 0, if there are races
	haltOnError bool   // the first race ends the program
	exitSleep   int64  // how long to wait for goroutines at the end, in ms
}{exitCode: 66, exitSleep: 1000}

// heisenReadOptions sets the options. It prints a line for each that is wrong.
func heisenReadOptions(text string) {
	for at := 0; ; {
		for at < len(text) && heisenSeparatesOptions(text[at]) {
			at++
		}
		if at == len(text) {
			return
		}
		start := at
		for at < len(text) && text[at] != '=' && !heisenSeparatesOptions(text[at]) {
			at++
		}
		name, value, reason := text[start:at], "", ""
		if at == len(text) || text[at] != '=' {
			reason = "no value"
		} else {
			value, at = heisenOptionValue(text, at+1)
			if at < 0 {
				at, reason = len(text), "no closing quotation mark"
			} else {
				reason = heisenSetOption(name, value)
			}
		}
		if reason != "" {
			print("heisen: GORACE: ", text[start:at], ": ", reason, "\n")
		}
	}
}

func heisenSeparatesOptions(c byte) bool {
	return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\t' || c == '\r'
}

// heisenOptionValue returns the value that begins at an index, and the index behind it, which is
// negative if a quotation mark is missing.
func heisenOptionValue(text string, start int) (value string, end int) {
	end = start
	if end < len(text) && (text[end] == '\'' || text[end] == '"') {
		for end++; end < len(text); end++ {
			if text[end] == text[start] {
				return text[start+1 : end], end + 1
			}
		}
		return "", -1
	}
	for end < len(text) && !heisenSeparatesOptions(text[end]) {
		end++
	}
	return text[start:end], end
}

// heisenSetOption sets an option. It returns what is wrong, or the empty string.
func heisenSetOption(name, value string) (wrong string) {
	o := &heisenOptions
	n, isNumber := heisenNumber(value)
	switch name {
	case "log_path":
		if o.logPath = value; value == "stderr" {
			o.logPath = ""
		}
	case "strip_path_prefix":
		o.stripPrefix = value
	case "exitcode":
		if !isNumber || n > 255 {
			return "not a number from 0 to 255"
		}
		o.exitCode = int32(n)
	case "atexit_sleep_ms":
		if !isNumber {
			return "not a number"
		}
		o.exitSleep = n
	case "history_size":
		if !isNumber {
			return "not a number"
		}
	case "halt_on_error":
		switch value {
		case "1", "yes", "true":
			o.haltOnError = true
		case "0", "no", "false":
			o.haltOnError = false
		default:
			return "neither 0 nor 1"
		}
	default:
		return "unknown option"
	}
	return ""
}

// heisenNumber returns the value of a decimal number below 2^31.
func heisenNumber(text string) (n int64, ok bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' || n > 1<<31 {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, text != "" && n < 1<<31
}
