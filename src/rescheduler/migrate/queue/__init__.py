"""Which of the migrations that there are records of may begin now, and who carries them out."""
