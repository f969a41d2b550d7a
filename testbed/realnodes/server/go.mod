module rescheduler.io/testbed/server

go 1.24
