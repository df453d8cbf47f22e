//go:build heisen_inject

package runtime

//go:cgo_import_dynamic libc_fstat fstat "/usr/lib/libSystem.B.dylib"
