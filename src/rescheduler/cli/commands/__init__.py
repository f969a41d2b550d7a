"""The commands, a file each under the name that people type: flags in, exit status out."""
