//! A value that forked processes share.

use std::alloc::{Layout, handle_alloc_error};
use std::borrow::Borrow;
use std::ops::Deref;
use std::ptr::NonNull;

/// A value alone on its pages, which a fork shares instead of copying.
#[derive(Debug)]
pub struct Shared<T>(NonNull<T>);

impl<T> Shared<T> {
    pub fn new(value: T) -> Self {
        // what a fork shares is never dropped: it must need no drop
        const { assert!(!std::mem::needs_drop::<T>()) };
        // SAFETY: a fresh anonymous mapping overlaps nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<T>().max(1),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        let Some(place) = NonNull::new(base.cast::<T>()).filter(|_| base != libc::MAP_FAILED) else {
            handle_alloc_error(Layout::new::<T>());
        };
        // SAFETY: pages are aligned for any T of ours, and the mapping holds one.
        unsafe { place.write(value) };
        Self(place)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: written by `new`, mapped until `drop`, never handed out mutably.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Borrow<T> for Shared<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference outlives `self`.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<T>().max(1)) };
    }
}

// SAFETY: only shared references to the value are handed out.
unsafe impl<T: Sync> Sync for Shared<T> {}
// SAFETY: as above; unmapping does not depend on the thread.
unsafe impl<T: Sync> Send for Shared<T> {}
