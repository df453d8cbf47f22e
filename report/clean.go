package report

import (
	"reflect"

	"github.com/heisen-go/heisen/internal/printable"
)

// clean returns a copy of f whose texts are safe to print, each on one line: names and messages may
// come from anybody's trace, report or schedule.
func clean[T any](f T) T {
	return cleaned(reflect.ValueOf(&f).Elem()).Interface().(T)
}

// cleaned returns a copy of v, which has strings, structs, slices and pointers.
func cleaned(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(printable.Text(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cleaned(v.Field(i)))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(cleaned(v.Index(i)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(cleaned(v.Elem()))
		}
	}
	return out
}
