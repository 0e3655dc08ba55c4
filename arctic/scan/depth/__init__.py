"""How deep the nodes of a tree are worth to be: what each holds, and why it is as deep as it is."""
