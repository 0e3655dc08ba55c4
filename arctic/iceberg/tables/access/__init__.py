"""How the files of a table are reached: with keys that its catalog hands out, while they last."""
