package main

import (
	"fmt"
	"io"

	"github.com/heisen-go/heisen/bench/results"
)

// publishedRaces is table 5.3 of the thesis: the true races, and what the detectors report on the
// incomplete trace, with false alarms in parentheses.
var publishedRaces = [][]any{
	{"ftpserver", 24, "37 (17)", "37 (17)", "56 (32)", "15 (0)"},
	{"floodlight", 5, "16 (16)", "16 (16)", "24 (19)", "4 (0)"},
	{"jigsaw", 8, "41 (36)", "41 (36)", "55 (47)", "2 (0)"},
	{"sunflow", 1, "6 (5)", "6 (5)", "6 (5)", "1 (0)"},
	{"xalan", 56, "22 (2)", "22 (2)", "57 (1)", "52 (0)"},
	{"derby", 9, "13 (5)", "13 (5)", "37 (28)", "7 (0)"},
	{"eclipse", 9, "72 (68)", "72 (68)", "90 (81)", "4 (0)"},
	{"total", 112, "207 (149)", "207 (149)", "325 (213)", "85 (0)"},
}

// publishedCosts is the part of table 5.4 of the thesis that is about time: the program Xalan without
// BarrierPairs, with them, and with the optimization that follows pointers once, by excluded packages.
var publishedCosts = [][]any{
	{"JDK", "16.5 s", "44 s (+168%)", "18.6 s (+13%)"},
	{"JDK, harness", "15.8 s", "39 s (+147%)", "16.6 s (+5%)"},
	{"JDK, harness, xpath", "13.6 s", "31 s (+134%)", "15.3 s (+12%)"},
	{"JDK, harness, xml", "6.4 s", "11.3 s (+77%)", "6.7 s (+4%)"},
	{"JDK, harness, xpath, xml", "4.8 s", "8.6 s (+79%)", "5.2 s (+8%)"},
	{"JDK, harness, xpath, xml, xalan", "4.3 s", "7.1 s (+65%)", "4.5 s (+7%)"},
}

// printTables prints the rows of both tables, each beside the one of the thesis. A table without rows
// is left out. Notes follow the rows of the first.
func printTables(w io.Writer, races, costs [][]any, notes []string) error {
	if err := results.Conditions(w, "./bench/rdit"); err != nil {
		return err
	}
	for _, t := range []struct {
		title           string
		rows            [][]any
		columns         []string
		published       [][]any
		publishedHeader []string
	}{
		{"Pairs of places that race / their variables.", races,
			[]string{"client", "events", "of hidden code", "BarrierPairs",
				"HB, complete", "HB, incomplete", "false", "HB, BarrierPairs", "false",
				"mcm, complete", "mcm, incomplete", "false", "mcm, BarrierPairs", "false", "open queries"},
			publishedRaces, []string{"published (table 5.3)", "true races", "HB (false)", "CP (false)", "MC (false)", "RDIT (false)"}},
		{"Processor time of the client.", costs,
			[]string{"client", "as it is", "everything recorded", "events", "hidden", "events", "hidden without hooks"},
			publishedCosts, []string{"published (table 5.4), excluded", "without BarrierPairs", "with them", "with the optimization"}},
	} {
		if len(t.rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\n\n", t.title)
		for _, table := range []struct {
			columns []string
			rows    [][]any
		}{{t.columns, t.rows}, {t.publishedHeader, t.published}} {
			out := results.NewTable(table.columns...)
			for _, row := range table.rows {
				out.Add(row...)
			}
			if err := out.Print(w); err != nil {
				return err
			}
			for _, note := range notes {
				fmt.Fprintf(w, "- %s\n", note)
			}
			if len(notes) > 0 {
				fmt.Fprintln(w)
			}
			notes = nil
		}
	}
	return nil
}
