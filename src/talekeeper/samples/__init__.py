"""The sample that ships with the program: one character card and one long chat."""
