//! The cheapest place for a breakpoint at the beginning of a function: the kernel emulates a push of a register,
//! but lets the processor single-step most other instructions (arch/x86/kernel/uprobes.c): 16 us in place of 2 on a
//! virtual machine.

/// Bytes looked at: a longer way to the first push would be no prologue.
pub const LOOKED_AT_BYTES: usize = 48;

/// Bytes from the function's beginning to its first push, where all before it is carried out once at every call and
/// leaves the stack and the first argument as they were; else 0.
#[cfg(target_arch = "x86_64")]
pub fn first_push(code: &[u8]) -> u64 {
    use iced_x86::{
        Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, Register,
    };
    let mut known = InstructionInfoFactory::new();
    for instruction in &mut Decoder::with_ip(64, code, 0, DecoderOptions::NONE) {
        if instruction.mnemonic() == Mnemonic::Push && instruction.op0_register().is_gpr64() {
            return instruction.ip();
        }
        let goes_on = instruction.flow_control() == FlowControl::Next && !instruction.is_invalid();
        let spoils = known.info(&instruction).used_registers().iter().any(|used| {
            matches!(used.register().full_register(), Register::RSP | Register::RDI)
                && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
        });
        if !goes_on || spoils {
            break;
        }
    }
    0
}

/// Elsewhere nothing is known to be cheaper than the beginning.
#[cfg(not(target_arch = "x86_64"))]
pub fn first_push(_code: &[u8]) -> u64 {
    0
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_the_first_push_is_stepped_over() {
        // push %rbp
        assert_eq!(first_push(&[0x55]), 0);
        // endbr64; push %r15
        assert_eq!(first_push(&[0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57]), 4);
        // cmpl $0xc7,0x510596(%rip); push %r14: LWLockAcquire of an optimized build
        assert_eq!(first_push(&[0x81, 0x3d, 0x96, 0x05, 0x51, 0x00, 0xc7, 0, 0, 0, 0x41, 0x56]), 10);
    }

    #[test]
    fn what_may_be_left_out_or_spoil_what_is_read_is_not() {
        // jmp; push
        assert_eq!(first_push(&[0xeb, 0x00, 0x55]), 0);
        // mov %rsi,%rdi; push: the first argument is gone
        assert_eq!(first_push(&[0x48, 0x89, 0xf7, 0x55]), 0);
        // xchg %rax,%rdi; push, and stos; push
        assert_eq!(first_push(&[0x48, 0x97, 0x55]), 0);
        assert_eq!(first_push(&[0xab, 0x55]), 0);
        // leave; push
        assert_eq!(first_push(&[0xc9, 0x55]), 0);
        // sub $8,%rsp; push: the return address is elsewhere
        assert_eq!(first_push(&[0x48, 0x83, 0xec, 0x08, 0x55]), 0);
        // nothing that could be read
        assert_eq!(first_push(&[]), 0);
        assert_eq!(first_push(&[0x06, 0x55]), 0);
    }
}
