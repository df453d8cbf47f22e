package changed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrRevision is wrapped by errors about revisions that git does not know, and folders without a repository.
var ErrRevision = errors.New("no such revision")

// repository is a git repository at a revision.
type repository struct {
	root   string // absolute, without links
	commit string // hash of the revision
}

// openRepository opens the repository that a folder is in.
func openRepository(ctx context.Context, folder, revision string) (*repository, error) {
	r := &repository{root: folder}
	root, err := r.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRevision, err)
	}
	if r.root, err = filepath.EvalSymlinks(strings.TrimSuffix(string(root), "\n")); err != nil {
		return nil, err
	}
	commit, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%w: %s in %s; a shallow clone has no old ones", ErrRevision, revision, r.root)
	}
	r.commit = strings.TrimSpace(string(commit))
	return r, nil
}

// git runs git and returns what it prints.
func (r *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.root}, args...)...)
	cmd.Env = append(cmd.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if text, _, _ := bytes.Cut(bytes.TrimSpace(exit.Stderr), []byte("\n")); len(text) > 0 {
			err = fmt.Errorf("git %s: %s", args[0], text)
		}
	}
	return out, err
}

// files runs a git command that prints names of files, each with a zero byte.
func (r *repository) files(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.git(ctx, args...)
	if err != nil {
		return nil, err
	}
	names := strings.Split(string(out), "\x00")
	return names[:len(names)-1], nil
}

// changed returns the files that differ between the revision and the work tree, and those that git does not know yet.
// Names are relative to the root, with slashes.
func (r *repository) changed(ctx context.Context) ([]string, error) {
	differ, err := r.files(ctx, "diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", r.commit, "--")
	if err != nil {
		return nil, err
	}
	unknown, err := r.files(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	return append(differ, unknown...), err
}

// tracked returns the files that git knows.
func (r *repository) tracked(ctx context.Context) (map[string]bool, error) {
	names, err := r.files(ctx, "ls-files", "-z")
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	return known, err
}

// before returns what a file had at the revision, and whether it existed.
func (r *repository) before(ctx context.Context, name string) ([]byte, bool, error) {
	if _, err := r.git(ctx, "cat-file", "-e", r.commit+":"+name); err != nil {
		return nil, false, ctx.Err()
	}
	text, err := r.git(ctx, "cat-file", "blob", r.commit+":"+name)
	return text, true, err
}

// rel returns the name of a file relative to the root, and whether it is in the repository.
func (r *repository) rel(file string) (string, bool) {
	rel, err := filepath.Rel(r.root, file)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}
