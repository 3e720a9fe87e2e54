//! Parts of a network and what each costs, draws and reaches.
