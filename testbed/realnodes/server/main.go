// The HTTP server that pods on real nodes run.
//
//	/           answers at once with the name of the pod
//	/ready      200 from -ready-after on, 503 before
//	/slow?seconds=5      answers after so long
//	/download?seconds=10 sends a piece ten times a second, for so long
//	/burn?seconds=10     burns one processor for so long, then answers
//	/notes      answers with the file that -notes names
//
// At SIGTERM it exits at once and cuts what it has (-sigterm=exit), or takes no new connections
// and finishes what it has (-sigterm=finish).
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	address := flag.String("address", ":8080", "where it listens")
	startAfter := flag.Duration("start-after", 0, "so long nothing listens")
	readyAfter := flag.Duration("ready-after", 0, "so long /ready says no, from when it listens")
	onTerm := flag.String("sigterm", "finish", "exit or finish")
	crashAfter := flag.Duration("crash-after", 0, "exits with 1 after so long")
	notes := flag.String("notes", "", "a file, on a volume: each start adds the name of the pod to it")
	flag.Parse()
	if *notes != "" {
		if err := note(*notes); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}

	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	if *onTerm == "exit" {
		go func() { <-ended; os.Exit(0) }()
	}
	if *crashAfter > 0 {
		time.AfterFunc(*crashAfter, func() { os.Exit(1) })
	}
	time.Sleep(*startAfter)

	readyFrom := time.Now().Add(*readyAfter)
	server := &http.Server{Addr: *address, Handler: handler(readyFrom, *notes), ReadHeaderTimeout: time.Minute}
	finished := make(chan struct{})
	if *onTerm != "exit" {
		go func() {
			<-ended
			server.Shutdown(context.Background())
			close(finished)
		}()
	}
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-finished
}

func handler(readyFrom time.Time, notes string) http.Handler {
	name, _ := os.Hostname()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, name) })
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if time.Now().Before(readyFrom) {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(seconds(r))
		fmt.Fprintln(w, name)
	})
	mux.HandleFunc("/download", func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 10_000)
		for end := time.Now().Add(seconds(r)); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if _, err := w.Write(piece); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
		fmt.Fprintln(w, name)
	})
	mux.HandleFunc("/burn", func(w http.ResponseWriter, r *http.Request) {
		for end := time.Now().Add(seconds(r)); time.Now().Before(end); {
		}
		fmt.Fprintln(w, name)
	})
	mux.HandleFunc("/notes", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, notes) })
	return mux
}

func note(path string) error {
	name, _ := os.Hostname()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, name)
	return err
}

func seconds(r *http.Request) time.Duration {
	wanted, _ := strconv.ParseFloat(r.URL.Query().Get("seconds"), 64)
	return time.Duration(wanted * float64(time.Second))
}
