package library

import "bytes"

type log struct {
	buf  bytes.Buffer
	more bytes.Buffer
}

func (l *log) info(s string) {
	l.buf.WriteString(s)
}

func (l *log) warn(s string) {
	l.buf.WriteString("! ")
	l.buf.WriteString(s)
}

func (l *log) clear() {
	l.buf.Reset()
}
