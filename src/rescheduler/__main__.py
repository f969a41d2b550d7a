from rescheduler.cli import main

main()
