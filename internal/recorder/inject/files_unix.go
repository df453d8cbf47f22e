//go:build heisen_inject && unix

package runtime

// Files, as the runtime opens them on all systems that are like Unix. See os.go.

func heisenOpenToAppend(path *byte, empty bool) int32 {
	how := int32(_O_WRONLY | _O_CREAT | heisenToEnd | heisenCloseOnExec)
	if empty {
		how |= _O_TRUNC
	}
	return open(path, how, 0o644)
}

func heisenCloseFile(fd int32) { closefd(fd) }
