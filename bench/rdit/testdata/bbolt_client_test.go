package bbolt_test

import (
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

type document struct {
	title string
	words int
}

// Writers pass documents to readers by keys in the database. The database's locks order the
// accesses to the documents.
func TestClient(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const n = 60
	documents := make([]document, n)
	edits := 0 // not synchronized
	done := make(chan bool)
	go func() {
		for i := range n {
			documents[i].title = "title"
			documents[i].words = i
			edits++
			db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("ready"))
				if err != nil {
					return err
				}
				return b.Put([]byte{byte(i)}, []byte{1})
			})
		}
		done <- true
	}()
	sum := 0
	for i := range n {
		for {
			ready := false
			db.View(func(tx *bbolt.Tx) error {
				b := tx.Bucket([]byte("ready"))
				ready = b != nil && b.Get([]byte{byte(i)}) != nil
				return nil
			})
			if ready {
				break
			}
			time.Sleep(time.Millisecond)
		}
		sum += documents[i].words + len(documents[i].title)
	}
	edits++
	<-done
	if sum != n*(n-1)/2+5*n {
		t.Error(sum)
	}
}
