//! Models, engines and devices that Plimsoll knows, each fact with its source.
